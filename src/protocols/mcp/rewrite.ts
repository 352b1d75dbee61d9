import { editJson, type JsonPath } from '../json-text.ts'
import type { ServerMessage } from './message.ts'
import type { NameKind } from './methods.ts'
import type { Names } from './names.ts'

const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** Returns a server's ID for the client: with the server's index, so that it leads back to it. */
function idForClient(server: number, raw: string): string {
  return JSON.stringify(`${server}:${raw}`)
}

/** Returns undefined if the gateway did not issue it. */
export function idFromClient(
  raw: string,
): { readonly server: number; readonly raw: string } | undefined {
  if (!raw.startsWith('"')) return undefined
  const [, server, own] = /^(\d{1,3}):(.+)$/s.exec(JSON.parse(raw) as string) ?? []
  if (server === undefined || own === undefined) return undefined
  const isId = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"(?:[^"\\]|\\.)*")$/.test(own)
  return isId ? { server: Number(server), raw: own } : undefined
}

/** Rewrites a message of one of several servers with the client's names and IDs. */
export function rewriteForClient(
  { text, kind }: ServerMessage,
  server: number,
  names: Names,
): string {
  const isAsked = kind === 'request'
  return editJson(text, (path, raw) => {
    const kindOfName = nameAt(path)
    if (kindOfName !== undefined) return nameEdit(kindOfName, raw())
    if (isAsked && isPath(path, ['id'])) return { text: idForClient(server, raw()) }
    if (isAsked && isPath(path, ['params', '_meta', 'progressToken'])) {
      return { text: idForClient(server, raw()) }
    }
    if (isPath(path, ['params', 'requestId']) && kind === 'notification') {
      return { text: idForClient(server, raw()) }
    }
    return mayHoldNames(path) ? 'enter' : 'keep'
  })

  function nameEdit(kindOfName: NameKind, raw: string) {
    if (!raw.startsWith('"')) return 'keep'
    const name = names.forClient(kindOfName, server, JSON.parse(raw) as string)
    return { text: JSON.stringify(name) } as const
  }
}

/** False for content that only concerns the server: structured content, schemas, arguments. */
function mayHoldNames(path: JsonPath): boolean {
  const last = path.at(-1)
  return last !== 'structuredContent' && last !== 'arguments' && path.length < 8
}

/** Returns the kind of object that a value at this path names, if any. */
function nameAt(path: JsonPath): NameKind | undefined {
  const last = path.at(-1)
  if (last === 'uri') {
    const [first, second] = path
    if (first === 'params' && path.length === 2) return 'resource'
    if (first !== 'result') return undefined
    return second === 'content' || second === 'contents' || second === 'messages'
      ? 'resource'
      : undefined
  }
  if (last !== 'taskId') return undefined
  if (path.at(-2) === RELATED_TASK) return 'task'
  if (path.length === 2 && (path[0] === 'result' || path[0] === 'params')) return 'task'
  return isPath(path, ['result', 'task', 'taskId']) ? 'task' : undefined
}

function isPath(path: JsonPath, wanted: JsonPath): boolean {
  return path.length === wanted.length && path.every((part, i) => part === wanted[i])
}

/** Values of a message by path, and the texts that replace them. */
export type Replacements = readonly (readonly [path: JsonPath, text: string])[]

export function replaceIn(text: string, replacements: Replacements): string {
  if (replacements.length === 0) return text
  return editJson(text, (path) => {
    let isOnTheWay = false
    for (const [wanted, own] of replacements) {
      if (isPath(path, wanted)) return { text: own }
      if (path.length < wanted.length && path.every((part, i) => part === wanted[i])) {
        isOnTheWay = true
      }
    }
    return isOnTheWay ? 'enter' : 'keep'
  })
}
