import * as z from 'zod'
import { entriesOf } from '../conditional.ts'
import { MANAGED_HEADERS } from '../header-changes.ts'
import { expression, scalar } from '../scalars.ts'
import { issue } from '../shapes.ts'

type Stage = 'transform' | 'response'

/** What is not a header, and yet written as one (RFC 9113 §8.3). */
const PSEUDO: Readonly<Record<Stage, readonly string[]>> = {
  transform: [':path', ':authority'],
  response: [':status'],
}

const headerName = (pseudo: readonly string[] = []) =>
  scalar<string>({
    what: 'the name of a header',
    hint: ['write letters, digits and hyphens', ...pseudo].join(', or '),
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
    issues.push(issue(value, `\`${value}\` cannot be changed here`, { rule: 'malformed', hint }))
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
            name: headerName(pseudo).describe('Its name.'),
            value: expression('any', stage).describe('Its value.'),
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
      `Headers that get this one value: name to expression, or a list of \`name\` and \`value\`. ${pseudo}`,
    ),
    add: fields(stage).describe('Headers that get a further value, in the same form.'),
    remove: z.array(headerName()).max(64).prefault([]).describe('Headers that are removed.'),
    body: expression('any', stage)
      .optional()
      .describe('What takes the place of the body: a string, bytes, or what is written as JSON.'),
    metadata: metadata(stage).describe(
      'What later policies, backend rules and logs read as `metadata`: name to expression.',
    ),
  })

const SHAPE = {
  request: changes('transform', '`:path` and `:authority` change the request line.')
    .optional()
    .describe('What the backend gets.'),
  response: changes('response', '`:status` changes the status.')
    .optional()
    .describe('What the client gets, also if the gateway responds by itself.'),
}

const entry = z.strictObject({
  condition: expression('bool', 'transform')
    .optional()
    .describe('When it applies. Optional in the last entry, which then applies to the rest.'),
  ...SHAPE,
})

/** One of `request` and `response`, or `conditional` with several of such pairs. */
export const transformations = z
  .strictObject({
    ...SHAPE,
    conditional: entriesOf(entry)
      .optional()
      .describe('Several of them: the first whose condition is true applies, if any.'),
  })
  .check(({ value, issues }) => {
    const { request, response, conditional } = value
    const other = request === undefined ? 'response' : 'request'
    if (conditional === undefined || (request ?? response) === undefined) return
    const hint = 'write it as the last entry of `conditional`, without `condition`'
    const message = `\`conditional\` and \`${other}\` exclude each other`
    issues.push(issue(value, message, { rule: 'excludes', hint }, [other]))
  })
  .transform(({ request, response, conditional }): Transformations => {
    const variants = conditional ?? [{ request, response }]
    return { variants: variants.map(withoutUndefined) }
  })
  .describe(
    'Changes headers, body and metadata of requests and responses by expressions: first ' +
      '`metadata`, then `add`, `set`, `remove`, and `body`. A header whose expression fails is ' +
      'removed, so that no client can send it instead; a body becomes empty.',
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

/** The Model has no keys without a value. */
function withoutUndefined(written: z.output<typeof entry>): Variant {
  const known = Object.entries(written).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, key === 'condition' ? value : defined(value as Changes)]],
  )
  return Object.fromEntries(known)
}

function defined({ body, ...rest }: Changes): Changes {
  return body === undefined ? rest : { ...rest, body }
}
