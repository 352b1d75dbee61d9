import { CERTIFICATES, claimsIn, isOutOfTime } from './credentials.ts'
import { type Tree, writeYaml } from './document.ts'
import type { Check, FalseClaim, Pair } from './pair.ts'
import { gatewayAt, proxyProtocolOf } from './places.ts'
import { describeProbe, portsOf } from './probes.ts'
import { sharesIn } from './shares.ts'
import { type Outcome, type Probe, sentName } from './wire.ts'

const CASES = 6

/**
 * `portcullis test`: the observed outcomes pass as a suite, and with one inverted expectation it
 * fails.
 */
export const checkTest: Check = async (pair) => {
  const { old: side, world, random } = pair
  if (sharesIn(side.tree).length > 0) return []
  const able = [...pair.probes.keys()].filter((index) => isSayable(pair, index))
  const chosen = random.some(able, CASES)
  if (chosen.length === 0) return []
  const cases = chosen.map((index) => caseOf(pair, index))
  const suite = (requests: readonly Tree[]) => {
    const tree = { name: 'observed', config: side.file.split('/').at(-1) as string, requests }
    return world.writeText('suite.yaml', writeYaml(tree).text.replaceAll('$$', '$'))
  }
  const claims: FalseClaim[] = []
  const passed = await pair.tools(['test', suite(cases), '--json'])
  pair.count('test')
  if (passed.code !== 0) {
    const failures = failuresIn(passed.out)
    const at = chosen[failures[0]?.index ?? 0] as number
    const claim = `test: fails what was observed: ${failures[0]?.text ?? passed.out.replaceAll(/\s+/g, ' ').slice(0, 900)}`
    const observed = `responded with ${side.outcomes[at]?.status}`
    claims.push({
      kind: 'test fails',
      claim,
      observed,
      probe: describeProbe(pair.probes[at] as Probe),
    })
    return claims
  }
  const turned = random.int(cases.length)
  const wrong = cases.map((one, index) => (index === turned ? { ...one, expect: 299 } : one))
  const failed = await pair.tools(['test', suite(wrong), '--json'])
  if (failed.code === 0) {
    const claim = 'test: passes with an expectation that is wrong'
    claims.push({ kind: 'test passes', claim, observed: 'another status' })
  }
  return claims
}

function failuresIn(out: string): readonly { readonly index: number; readonly text: string }[] {
  const { suites = [] } = JSON.parse(out) as {
    suites?: readonly { cases: readonly { failures: readonly string[] }[] }[]
  }
  const [suite] = suites
  return (suite?.cases ?? []).flatMap(({ failures }, index) =>
    failures[0] === undefined ? [] : [{ index, text: failures[0] }],
  )
}

/** Node's own client can send it, so it is a request as other clients would send it. */
function isSayable({ probes, old }: Pair, index: number): boolean {
  const { transport, request } = probes[index] as Probe
  const { status } = old.outcomes[index] as Outcome
  const { port, proxy, tls } = transport
  const { tree } = old
  const own = portsOf(tree).find((one) => one.port === port)
  if (transport.isHttp2) return false
  if (own === undefined || own.isSecure !== (tls !== undefined)) return false
  if ((proxyProtocolOf(tree) === undefined) !== (proxy === undefined)) return false
  const version = proxyProtocolOf(tree)?.['version'] ?? 'V2'
  if (proxy !== undefined && version !== 'All' && version !== `V${proxy.version}`) return false
  if (gatewayAt(tree, port) === 'stream') return false
  // A rule that reads the port of the gateway would see another one there, and so would a backend
  // that is named by its own address. Neither is generated.
  if (request.host === undefined || request.host === '' || !/^\//.test(request.target)) return false
  if (status === 421 || tls?.certificate === 'stranger') return false
  if (isOutOfTime(request.claims)) return false
  const names = request.headers.map(([name]) => name.toLowerCase())
  if (new Set(names).size < names.length) return false
  return /^[A-Z]+$/.test(request.method) && request.method !== 'CONNECT'
}

function caseOf({ probes, old }: Pair, index: number): Tree {
  const { transport, request } = probes[index] as Probe
  const { status } = old.outcomes[index] as Outcome
  const { method, target, host, headers, claims, token, apiKey, body } = request
  const { tls, proxy } = transport
  const own: Record<string, Tree | string> = {}
  for (const [name, value] of headers) own[name] = value
  if (apiKey !== undefined) own['x-api-key'] = apiKey
  const named = typeof tls?.certificate === 'string' ? CERTIFICATES[tls.certificate] : undefined
  return {
    name: `probe ${index}`,
    listener: gatewayAt(old.tree, transport.port) as string,
    method,
    path: target,
    host: host as string,
    headers: own,
    ...(body === undefined ? {} : { body }),
    ...(claims === undefined ? {} : { as: JSON.parse(claimsIn(claims)) as Tree }),
    ...(claims === undefined || token === undefined ? {} : { token }),
    ...(proxy === undefined ? {} : { from: proxy.address }),
    ...(tls === undefined ? {} : { sni: sentName(tls.sni) ?? false }),
    ...(named === undefined
      ? {}
      : { certificate: { subject: named.subject, names: [...named.names] } }),
    expect: status === 0 ? 'closed' : status,
  }
}
