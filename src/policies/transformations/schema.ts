import * as z from 'zod'
import { entriesOf } from '../conditional.ts'
import { MANAGED_HEADERS } from '../header-changes.ts'
import { expression, scalar } from '../scalars.ts'
import { issue } from '../shapes.ts'

type Stage = 'transform' | 'response'

/** Pseudo-headers, which are written like headers (RFC 9113 §8.3). */
const PSEUDO: Readonly<Record<Stage, readonly string[]>> = {
  transform: [':path', ':authority'],
  response: [':status'],
}

const headerName = (pseudo: readonly string[] = []) =>
  scalar<string>({
    what: 'a header name',
    hint: ['use letters, digits and hyphens', ...pseudo].join(', or '),
    pattern: /^:?[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
    maxLength: 256,
    parse: (text) => {
      const name = text.toLowerCase()
      if (name === 'host' && pseudo.includes(':authority')) return ':authority'
      return name.startsWith(':') && !pseudo.includes(name) ? undefined : name
    },
  }).check(({ value, issues }) => {
    const hint = MANAGED_HEADERS[value]
    if (hint === undefined) return
    issues.push(issue(value, `\`${value}\` cannot be changed`, { rule: 'malformed', hint }))
  })

export interface Field {
  readonly name: string
  /** An expression. */
  readonly value: string
}

const fields = (stage: Stage, pseudo: readonly string[] = []) =>
  z
    .union([
      z
        .record(headerName(pseudo), expression('any', stage))
        .transform((record): Field[] =>
          Object.entries(record).map(([name, value]) => ({ name, value })),
        ),
      z
        .array(
          z.strictObject({
            name: headerName(pseudo).describe('The name of the header.'),
            value: expression('any', stage).describe('The value of the header.'),
          }),
        )
        .max(64),
    ])
    .prefault({})

const metadata = (stage: Stage) =>
  z
    .record(z.string().min(1).max(256), expression('any', stage))
    .transform((record): Field[] =>
      Object.entries(record).map(([name, value]) => ({ name, value })),
    )
    .prefault({})

const changes = (stage: Stage, pseudo: string) =>
  z.strictObject({
    set: fields(stage, PSEUDO[stage]).describe(
      `Headers to set, replacing existing values: a mapping of names to CEL expressions, or a list of \`name\` and \`value\`. ${pseudo}`,
    ),
    add: fields(stage).describe('Headers to add, keeping existing values, in the same format.'),
    remove: z.array(headerName()).max(64).prefault([]).describe('Headers to remove.'),
    body: expression('any', stage)
      .optional()
      .describe('The new body: a string, bytes, or a value to encode as JSON.'),
    metadata: metadata(stage).describe(
      'Values that are available to later policies, backend rules and logs as `metadata`, as CEL expressions.',
    ),
  })

const SHAPE = {
  request: changes('transform', '`:path` and `:authority` change the request line.')
    .optional()
    .describe('Changes to requests to the backend.'),
  response: changes('response', '`:status` changes the status.')
    .optional()
    .describe('Changes to responses to the client, including responses of the gateway itself.'),
}

const entry = z.strictObject({
  condition: expression('bool', 'transform')
    .optional()
    .describe(
      'When the entry applies. Optional in the last entry, which then applies to all other requests.',
    ),
  ...SHAPE,
})

/** Either `request` and `response`, or `conditional` with several such pairs. */
export const transformations = z
  .strictObject({
    ...SHAPE,
    conditional: entriesOf(entry)
      .optional()
      .describe('Alternatives: the first entry whose condition is true applies, if any.'),
  })
  .check(({ value, issues }) => {
    const { request, response, conditional } = value
    const other = request === undefined ? 'response' : 'request'
    if (conditional === undefined || (request ?? response) === undefined) return
    const hint = 'move it to the last entry of `conditional`, without `condition`'
    const message = `\`conditional\` and \`${other}\` are mutually exclusive`
    issues.push(issue(value, message, { rule: 'excludes', hint }, [other]))
  })
  .transform(({ request, response, conditional }): Transformations => {
    const variants = conditional ?? [{ request, response }]
    return { variants: variants.map(withoutUndefined) }
  })
  .describe(
    'Changes headers, bodies and metadata of requests and responses with CEL expressions: first ' +
      '`metadata`, then `add`, `set`, `remove` and `body`. If an expression fails, its header is ' +
      'removed, so that clients cannot send it instead; a body becomes empty.',
  )

export type Changes = z.output<ReturnType<typeof changes>>

export interface Variant {
  /** Absent: always. */
  readonly condition?: string
  readonly request?: Changes
  readonly response?: Changes
}

export interface Transformations {
  readonly variants: readonly Variant[]
}

/** A Model has no keys with undefined values. */
function withoutUndefined(written: z.output<typeof entry>): Variant {
  const known = Object.entries(written).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, key === 'condition' ? value : defined(value as Changes)]],
  )
  return Object.fromEntries(known)
}

function defined({ body, ...rest }: Changes): Changes {
  return body === undefined ? rest : { ...rest, body }
}
