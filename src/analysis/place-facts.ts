import type { Backend } from '../model/backend.ts'
import { clientsOf, type Listener } from '../model/gateway.ts'
import type { RuleStage } from '../reach/points.ts'
import type { Where } from '../reach/where.ts'
import type { Fact } from './symbolic/attribute-tree.ts'

/** What is known about a request from its place in the Model. */
export function* placeFacts(stage: RuleStage, where: Where): Generator<[string, Fact]> {
  const { gateway, listener, route, backend, provider } = where
  // As specified: always unset on HTTP and HTTPS listeners, even if the client sends SNI.
  if (stage !== 'connection' || listener.protocol !== 'TLS') {
    yield ['destination.hostname', { kind: 'unset' }]
  }
  yield* certificateFacts(listener)
  if (stage === 'connection') return
  yield ['request.scheme', is(listener.protocol === 'HTTPS' ? 'https' : 'http')]
  yield ['proxy.gateway', is(gateway.name)]
  yield ['proxy.listener', is(listener.name)]
  yield ['proxy.route', route === undefined ? { kind: 'unset' } : is(route.name)]
  if (backend === undefined) return
  const [type, protocol] = typeOf(backend)
  yield ['backend.name', is(backend.name)]
  yield ['backend.type', is(type)]
  yield ['backend.protocol', is(protocol)]
  yield ['backend.provider', provider === undefined ? { kind: 'unset' } : is(provider.name)]
  if (stage === 'mcp') return
  yield provider === undefined ? ['llm', { kind: 'unset' }] : ['llm.provider', is(provider.name)]
}

function is(value: string): Fact {
  return { kind: 'values', values: [value], isSet: true }
}

const CERTIFICATE = ['subject', 'subjectAltNames', 'issuer', 'fingerprint']
/** Not every certificate has these. */
const OPTIONAL = ['subjectCn', 'identity']

/** All fields of a certificate. */
export const CERTIFICATE_FIELDS: readonly string[] = [...CERTIFICATE, ...OPTIONAL]

function* certificateFacts(listener: Listener): Generator<[string, Fact]> {
  const clients = clientsOf(listener)
  if (clients === undefined) {
    for (const field of CERTIFICATE_FIELDS) yield [`source.${field}`, { kind: 'unset' }]
  } else if (clients === 'Require') {
    for (const field of CERTIFICATE) yield [`source.${field}`, { kind: 'set' }]
  }
}

function typeOf({ kind }: Backend): readonly [type: string, protocol: string] {
  switch (kind) {
    case 'ai':
      return ['ai', 'llm']
    case 'mcp':
      return ['mcp', 'mcp']
    case 'service':
    case 'dynamic':
      return [kind, 'http']
    default:
      return ['static', 'http']
  }
}
