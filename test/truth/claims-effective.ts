import { constantsOf } from './constants.ts'
import { withoutPolicies } from './open.ts'
import type { Check, FalseClaim, Pair, Side } from './pair.ts'
import { gatewayAt, readsAddresses, routesBy } from './places.ts'
import { describeProbe, isMistakable, probesFor } from './probes.ts'
import { isAdmitted, type Outcome, type Probe } from './wire.ts'

interface Effective {
  readonly listeners: readonly {
    readonly gateway: string
    readonly listener: string
    readonly routes: readonly { readonly route: string; readonly protection: string }[]
  }[]
}

/**
 * The number of probes that must have reached a route before a statement about all of them is made.
 */
const ENOUGH = 4
/** The number of further probes that are sent before it is reported. */
const FURTHER = 500

/**
 * `portcullis effective`: a guarded route denies some requests, and an unprotected one denies none.
 */
export const checkEffective: Check = async (pair) => {
  const claims: FalseClaim[] = []
  for (const side of [pair.old, pair.now]) {
    const { out } = await pair.tools(['effective', '-f', side.file, '--json'])
    const { listeners } = JSON.parse(out) as Effective
    for (const gateway of new Set(listeners.map((one) => one.gateway))) {
      const own = listeners.filter((one) => one.gateway === gateway)
      const routes = own.flatMap((one) => one.routes)
      for (const name of new Set(routes.map((one) => one.route))) {
        const said = new Set(
          routes.filter((one) => one.route === name).map((one) => one.protection),
        )
        // Several listeners lead to it, each may guard it differently, and nothing here tells them
        // apart.
        const [protection] = said
        if (said.size === 1 && protection !== undefined) {
          pair.count(`effective ${protection}`)
          claims.push(...(await checkRoute(pair, side, gateway, name, protection)))
        }
      }
    }
  }
  return claims
}

async function checkRoute(
  pair: Pair,
  side: Side,
  gateway: string,
  route: string,
  protection: string,
): Promise<readonly FalseClaim[]> {
  const { probes } = pair
  const { tree, outcomes, open } = side
  const came = comingTo(side, gateway, route, probes, open)
  const admitted = came.filter((index) => isAdmitted(outcomes[index] as Outcome))
  const claim = `effective: ${gateway}, route ${route} is ${protection}`
  const isAnonymous = (index: number) => isNobody(probes[index] as Probe)
  if (protection === 'guarded' && came.length >= ENOUGH && admitted.length === came.length) {
    // Requests that an address or a required certificate denies cannot be sent from here. Nor is it
    // known which strings match a regular expression, or have another length.
    const text = JSON.stringify(tree)
    const isOdd = /"root"|matches\(|size\(|contains\(|endsWith\(/.test(text)
    // The verdict of a reachable service is unknown to the gateway: here it allows everything.
    const isAsked = /"extAuthz"/.test(text) && /"failureMode":"Deny"/.test(text)
    const isElsewhere = readsAddresses(tree) || isOdd || isAsked
    if (isElsewhere || !came.some(isAnonymous)) return []
    const rejected = await rejectedAmongMore(pair, side, gateway, route)
    if (rejected !== 'none') return []
    const observed = `all ${came.length} requests that come to it are admitted, and so are more`
    return [{ kind: 'effective guarded', claim, observed }]
  }
  if (protection === 'unprotected') {
    const nobody = came.filter(isAnonymous)
    const rejected = nobody.filter((index) => !isAdmitted(outcomes[index] as Outcome))
    const [one] = rejected
    if (one === undefined) return []
    const { status } = outcomes[one] as Outcome
    const observed = `${side.name} responds with ${status} to somebody without credentials`
    return [
      {
        kind: 'effective unprotected',
        claim,
        observed,
        probe: describeProbe(probes[one] as Probe),
      },
    ]
  }
  return []
}

function comingTo(
  { tree }: Side,
  gateway: string,
  route: string,
  probes: readonly Probe[],
  open: readonly Outcome[],
): readonly number[] {
  return [...probes.keys()].filter((index) => {
    const { transport } = probes[index] as Probe
    if (isMistakable(probes[index] as Probe)) return false
    const routes = routesBy(tree, open[index] as Outcome)
    return gatewayAt(tree, transport.port) === gateway && routes.length === 1 && routes[0] === route
  })
}

/** A few probes may all be admitted by chance. */
async function rejectedAmongMore(
  { world, random }: Pair,
  side: Side,
  gateway: string,
  route: string,
): Promise<'some' | 'none'> {
  const drawn = probesFor(random, [side.tree], FURTHER)
  const more = [...drawn, ...withEveryName(drawn, side)]
  await world.serve(world.write('open.yaml', withoutPolicies(side.tree)))
  const open = await world.send(more)
  await world.serve(side.file)
  const outcomes = await world.send(more)
  const came = comingTo(side, gateway, route, more, open)
  return came.some((index) => !isAdmitted(outcomes[index] as Outcome)) ? 'some' : 'none'
}

/** A few connections carry many requests: adds one probe per port and server name in the file. */
function withEveryName(probes: readonly Probe[], { tree }: Side): readonly Probe[] {
  const byPort = new Map(
    probes.filter(({ transport }) => transport.tls).map((one) => [one.transport.port, one]),
  )
  return [...byPort.values()].flatMap((probe) =>
    constantsOf([tree]).serverNames.map((sni) => ({
      ...probe,
      transport: { ...probe.transport, tls: { ...probe.transport.tls, sni } },
    })),
  )
}

/** Whether the probe has no credentials. */
function isNobody({ transport, request }: Probe): boolean {
  const { claims, apiKey, headers } = request
  const isSilent = claims === undefined && apiKey === undefined
  const hasPassword = headers.some(([name]) => name === 'authorization')
  return isSilent && !hasPassword && transport.tls?.certificate === undefined
}
