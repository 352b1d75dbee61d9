import * as z from 'zod'
import { conditionOf, orConditional, toEntry } from '../conditional.ts'
import { expression, headerName } from '../scalars.ts'
import { issue } from '../shapes.ts'

const SHAPE = {
  status: z.int().min(200).max(599).describe('The status of the response.'),
  body: z.string().max(65_536).optional().describe('The body of the response.'),
  bodyExpression: expression('any')
    .optional()
    .describe('A CEL expression that returns the body, instead of `body`.'),
  headers: z
    .record(headerName(), expression('string'))
    .prefault({})
    .describe('Response headers, as CEL expressions: `content-type: "\'text/plain\'"`.'),
}

type Bodies = z.core.ParsePayload<{ readonly body?: unknown; readonly bodyExpression?: unknown }>

function oneBody({ value, issues }: Bodies): void {
  if (value.body === undefined || value.bodyExpression === undefined) return
  const message = '`body` and `bodyExpression` are mutually exclusive'
  issues.push(
    issue(value, message, { rule: 'excludes', hint: 'remove one of them' }, ['bodyExpression']),
  )
}

export const plainDirectResponse = z
  .strictObject(SHAPE)
  .check(oneBody)
  .describe('Returns a fixed response without calling a backend.')

const entry = z
  .strictObject({ ...conditionOf(false), ...SHAPE })
  .check(oneBody)
  .transform(({ condition, ...value }) => toEntry(condition, value))

/** An entry of `conditional` applies if its condition is true. */
export const directResponse = orConditional(plainDirectResponse, entry)

export type DirectResponse = z.output<typeof plainDirectResponse>
