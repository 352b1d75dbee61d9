import * as z from 'zod'
import { headerName, headerValue } from './scalars.ts'
import { issue } from './shapes.ts'

/** Lists preserve the order in which headers are written, whatever their names. */
export interface HeaderChanges {
  readonly set: readonly HeaderField[]
  readonly add: readonly HeaderField[]
  readonly remove: readonly string[]
}

export interface HeaderField {
  readonly name: string
  readonly value: string
}

/**
 * RFC 9110 §7.6.1, RFC 9112 §6: the gateway sets these itself, since it frames and routes messages.
 */
export const MANAGED_HEADERS: Readonly<Record<string, string>> = {
  connection: 'the gateway manages connections itself',
  'content-length': 'the gateway frames messages itself',
  host: 'set it with `urlRewrite.authority`',
  'keep-alive': 'the gateway manages connections itself',
  'proxy-connection': 'the gateway manages connections itself',
  te: 'the gateway frames messages itself',
  trailer: 'the gateway frames messages itself',
  'transfer-encoding': 'the gateway frames messages itself',
  upgrade: 'the gateway manages connections itself',
}

export const fieldName = () =>
  headerName().check(({ value, issues }) => {
    const hint = MANAGED_HEADERS[value.toLowerCase()]
    if (hint === undefined) return
    issues.push(issue(value, `\`${value}\` cannot be changed`, { rule: 'malformed', hint }))
  })

const mapping = () =>
  z
    .record(fieldName(), headerValue())
    .check(({ value, issues }) => {
      for (const [twin, name] of twins(Object.keys(value))) {
        issues.push(issue(value, same(twin, name), SAME, [name]))
      }
    })
    .transform((record) => Object.entries(record).map(([name, value]) => ({ name, value })))

/** The form of Kubernetes objects and Gateway API filters. */
const list = () =>
  z
    .array(
      z.strictObject({
        name: fieldName().describe('The name of the header.'),
        value: headerValue().describe('The value of the header.'),
      }),
    )
    .max(64)
    .check(({ value, issues }) => {
      for (const [twin, name, index] of twins(value.map((field) => field.name))) {
        issues.push(issue(value, same(twin, name), SAME, [index, 'name']))
      }
    })

const SAME = {
  rule: 'excludes',
  hint: 'remove one of them: header names are case-insensitive',
} as const
const same = (twin: string, name: string) => `\`${twin}\` and \`${name}\` are the same header`

function* twins(names: readonly string[]): Generator<readonly [string, string, number]> {
  const seen = new Map<string, string>()
  for (const [index, name] of names.entries()) {
    const twin = seen.get(name.toLowerCase())
    seen.set(name.toLowerCase(), name)
    if (twin !== undefined) yield [twin, name, index]
  }
}

const fields = () => z.union([mapping(), list()]).prefault({})

export const headerChanges = () =>
  z.strictObject({
    set: fields().describe(
      'Headers to set, replacing existing values: a mapping of names to values, or a list of `name` and `value`.',
    ),
    add: fields().describe('Headers to add, keeping existing values, in the same format.'),
    remove: z.array(fieldName()).max(64).prefault([]).describe('Headers to remove.'),
  })
