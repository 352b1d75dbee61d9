import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import {
  agent,
  call,
  type File,
  models,
  routed,
  rules,
  type SentRequest,
  toAgent,
  toolCall,
  tools,
} from './protocol-attacks.ts'

/** Changes to a forwarded request that a protocol then reads. */
const CHANGED: readonly (readonly [string, Tree])[] = [
  ['the encoding', { requestHeaders: { set: { 'content-encoding': 'gzip' } } }],
  [
    'the encoding, by a transformation',
    { transformations: { request: { set: { 'content-encoding': "'gzip'" } } } },
  ],
  ['the type', { requestHeaders: { set: { 'content-type': 'text/plain' } } }],
  ['what is accepted', { requestHeaders: { set: { accept: 'a/b' } } }],
  ['the session', { requestHeaders: { set: { 'mcp-session-id': 'x' } } }],
  ['the version', { requestHeaders: { set: { 'mcp-protocol-version': '1' } } }],
  ['the version of agents', { requestHeaders: { set: { 'a2a-version': '9' } } }],
  ['the host', { urlRewrite: { authority: { full: 'b.test' } } }],
  ['the path', { urlRewrite: { path: { full: '/other' } } }],
]
const SPEAKING: readonly (readonly [string, (place: Addresses) => Tree, SentRequest])[] = [
  [
    'models',
    (place) => models(place, { policies: rules({ deny: "llm.requestModel == 'bad'" }) }),
    call('m'),
  ],
  ['tools', (place) => tools(place), toolCall('read')],
  ['agents', (place) => agent(place, { deny: "a2a.method == 'CancelTask'" }), toAgent('tasks/get')],
]
export interface ChangedAttack {
  readonly name: string
  readonly old: File
  readonly now: File
  readonly request: SentRequest
}
/** The sockets decide whether it makes a difference. */
export const CHANGED_ATTACKS: readonly ChangedAttack[] = SPEAKING.flatMap(
  ([whom, backend, request]) =>
    CHANGED.map(([what, policies]) => ({
      name: `${what} is changed on the way to ${whom}`,
      old: (place: Addresses) => routed(backend(place)),
      now: (place: Addresses) => routed(backend(place), policies),
      request,
    })),
)
