import { STRING, type Type } from '../../cel/check/types.ts'
import type { AttributeTree } from './attribute-tree.ts'
import { any, type Formula, literal } from './formula.ts'
import type { Attribute, Tests } from './leaves.ts'
import { SERVER_NAME } from './text-domains.ts'

/**
 * `request.host` and `request.headers['host']` come from one line of the request: the header is as
 * the client wrote it, the host is in lowercase and without the port.
 */

export interface Hosts {
  readonly host: Attribute
  readonly header: Attribute
}

/** Both attributes, if the given one is either of them. */
export function hostsBy({ steps, types }: Attribute): Hosts | undefined {
  const [request] = types
  if (!isHost(steps) || request?.kind !== 'struct') return undefined
  const of = (field: string) => request.fields.get(field)?.type as Type
  return {
    host: { steps: HOST, types: [request, of('host')] },
    header: { steps: HEADER, types: [request, of('headers'), STRING] },
  }
}

const HOST = ['request', 'host']
const HEADER = ['request', 'headers', 'host']

function isHost(steps: readonly string[]): boolean {
  return steps.join('.') === HOST.join('.') || isHostHeader(steps)
}

export function isHostHeader(steps: readonly string[]): boolean {
  return steps.join('.') === HEADER.join('.')
}

/** The hostname in what a client sends as its host. */
export function nameIn(written: string): string {
  return written.replace(/:\d+$/, '').toLowerCase()
}

/** Different spellings of one host. */
export function spellings(name: string): readonly string[] {
  return /[a-z]/.test(name) ? [name, name.toUpperCase(), `${name}:80`] : [name]
}

/** Strings that both attributes can have, so that one can follow from the other. */
export function hostTexts({ equal = [], prefix, suffix, infix }: Tests): readonly string[] {
  const texts = [
    ...equal.filter((one) => typeof one === 'string'),
    ...(prefix === undefined ? [] : [prefix, `${prefix}z`]),
    ...(suffix === undefined ? [] : [suffix, `z${suffix}`]),
    ...(infix === undefined ? [] : [infix, `z${infix}z`]),
  ]
  return [...new Set([...SERVER_NAME.samples, ...texts.flatMap((text) => [text, nameIn(text)])])]
}

/** For each string of the header, the host is that name. Without a header, there is none. */
export function oneHost(tree: AttributeTree, hosts: Hosts): readonly Formula[] {
  const [host, header] = [tree.unknown(hosts.host), tree.unknown(hosts.header)]
  return header.possibilities.map((possibility, at) => {
    const isMeant = possibility.kind === 'value' || possibility.kind === 'absent'
    const name = possibility.kind === 'value' ? nameIn(String(possibility.value)) : ''
    const isNone = possibility.kind === 'value' && name === ''
    const isName = literal(host, (index) => {
      const own = host.possibilities[index]
      return isMeant && !isNone && own?.kind === 'value' && own.value === name
    })
    return any([literal(header, (index) => index !== at), isName])
  })
}
