import * as z from 'zod'
import { expression, headerName } from '../scalars.ts'
import { issue } from '../shapes.ts'

export const directResponse = z
  .strictObject({
    status: z.int().min(200).max(599).describe('The status of the answer.'),
    body: z.string().max(65_536).optional().describe('The body of the answer.'),
    bodyExpression: expression('any').optional().describe('The body, computed; instead of `body`.'),
    headers: z
      .record(headerName(), expression('string'))
      .prefault({})
      .describe('Headers of the answer, by expression: `content-type: "\'text/plain\'"`.'),
  })
  .check(({ value, issues }) => {
    if (value.body === undefined || value.bodyExpression === undefined) return
    const message = '`body` and `bodyExpression` exclude each other'
    issues.push(
      issue(value, message, { rule: 'excludes', hint: 'keep one of them' }, ['bodyExpression']),
    )
  })
  .describe('Answers by itself; no backend is asked.')

export type DirectResponse = z.output<typeof directResponse>
