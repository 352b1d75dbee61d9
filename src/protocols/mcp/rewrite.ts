import { editJson, type JsonPath } from '../json-text.ts'
import type { ServerMessage } from './message.ts'
import type { NameKind } from './methods.ts'
import type { Names } from './names.ts'

/** The member of `_meta` that names the task of a message. */
const RELATED_TASK = 'io.modelcontextprotocol/related-task'

/** Returns a server's ID for the client: with the server's index, so that it leads back to it. */
function idForClient(server: number, raw: string): string {
  return JSON.stringify(`${server}:${raw}`)
}

interface ServerId {
  readonly server: number
  /** As the server wrote it. */
  readonly raw: string
}

/** Returns undefined if the gateway did not issue it. */
export function idFromClient(raw: string): ServerId | undefined {
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
  return editJson(text, (path, raw) => {
    const kindOfName = nameAt(path, kind)
    if (kindOfName !== undefined) return nameEdit(kindOfName, raw())
    if (names.hasServerIds && isIdAt(path, kind)) return { text: idForClient(server, raw()) }
    return mayHoldNames(path) ? 'enter' : 'keep'
  })

  function nameEdit(kindOfName: NameKind, raw: string) {
    if (!raw.startsWith('"')) return 'keep'
    const name = names.forClient(kindOfName, server, JSON.parse(raw) as string)
    return { text: JSON.stringify(name) } as const
  }
}

const TASK_OF_RESPONSE: JsonPath = ['result', '_meta', RELATED_TASK, 'taskId']

/** Rewrites a client's response with the IDs of the server whose request it is for. */
export function responseForServer(text: string, { server, raw: id }: ServerId, names: Names) {
  return editJson(text, (path, raw) => {
    if (isPath(path, ['id'])) return { text: id }
    if (path.some((part, i) => part !== TASK_OF_RESPONSE[i])) return 'keep'
    if (path.length < TASK_OF_RESPONSE.length) return 'enter'
    const task: unknown = JSON.parse(raw())
    const named = typeof task === 'string' ? names.fromClient('task', task) : undefined
    return named?.server === server ? { text: JSON.stringify(named.name) } : 'keep'
  })
}

/** True for the ID of a server's request, wherever messages repeat it. */
function isIdAt(path: JsonPath, kind: ServerMessage['kind']): boolean {
  if (kind === 'notification') return isPath(path, ['params', 'requestId'])
  if (kind !== 'request') return false
  return isPath(path, ['id']) || isPath(path, ['params', '_meta', 'progressToken'])
}

/** False for content that only concerns the server: structured content, schemas, arguments. */
function mayHoldNames(path: JsonPath): boolean {
  const last = path.at(-1)
  return last !== 'structuredContent' && last !== 'arguments' && path.length < 8
}

/** Returns the kind of object that a value at this path names, if any. */
function nameAt(path: JsonPath, kind: ServerMessage['kind']): NameKind | undefined {
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
  // A server's request is about a task of the client.
  if (isPath(path, ['params', 'taskId'])) return kind === 'request' ? undefined : 'task'
  if (isPath(path, ['result', 'taskId'])) return 'task'
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
