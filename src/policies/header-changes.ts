import * as z from 'zod'
import { headerName, headerValue } from './scalars.ts'
import { issue } from './shapes.ts'

/** A list keeps the order in which they are written, whatever their names. */
export interface HeaderChanges {
  readonly set: readonly HeaderField[]
  readonly add: readonly HeaderField[]
  readonly remove: readonly string[]
}

export interface HeaderField {
  readonly name: string
  readonly value: string
}

/** RFC 9110 §7.6.1, RFC 9112 §6: who frames and routes a message writes these. */
const OWN: Readonly<Record<string, string>> = {
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

const fieldName = () =>
  headerName().check(({ value, issues }) => {
    const hint = OWN[value.toLowerCase()]
    if (hint === undefined) return
    issues.push(issue(value, `\`${value}\` cannot be changed here`, { rule: 'malformed', hint }))
  })

const fields = () =>
  z
    .record(fieldName(), headerValue())
    .check(({ value, issues }) => {
      const seen = new Map<string, string>()
      for (const name of Object.keys(value)) {
        const twin = seen.get(name.toLowerCase())
        seen.set(name.toLowerCase(), name)
        if (twin === undefined) continue
        const hint = 'keep one: names of headers have no case'
        const message = `\`${twin}\` and \`${name}\` are the same header`
        issues.push(issue(value, message, { rule: 'excludes', hint }, [name]))
      }
    })
    .prefault({})
    .transform((record) => Object.entries(record).map(([name, value]) => ({ name, value })))

export const headerChanges = () =>
  z.strictObject({
    set: fields().describe('Headers that get this one value.'),
    add: fields().describe('Headers that get a further value.'),
    remove: z.array(fieldName()).max(64).prefault([]).describe('Headers that are taken away.'),
  })
