import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import { type Outcome, runSteps, type Step } from '../../exchange/step.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { type Attachments, type Part, type Site, variablesOf } from '../define.ts'
import { type JwtWorld, SYSTEM_WORLD, TokenChecker } from './checker.ts'
import { compileLocation } from './locate.ts'
import { isRefusal, type Refusal, refuse } from './refusal.ts'
import type { JwtAuthentication } from './schema.ts'
import type { Verified } from './verify.ts'

/** All that reach the place must be content; each keeps its claims for whoever is to see them. */
export function compileJwtAuthentication(
  policies: Attachments<JwtAuthentication>,
  site: Site,
  world: JwtWorld = SYSTEM_WORLD,
): Part {
  const steps = policies.map((policy) => compileOne(policy, site, world))
  const [first, second] = steps
  if (first !== undefined && second === undefined) return { step: first }
  return { step: (exchange) => runSteps(steps, exchange) }
}

function compileOne(policy: ValidPolicy<JwtAuthentication>, site: Site, world: JwtWorld): Step {
  const { mode, location, forward } = policy.value
  const checker = site.kept(policy, () => new TokenChecker(policy.value, world))
  const evaluate =
    location.kind === 'expression'
      ? site
          .compile(location.expression, { policy, field: 'location.expression', result: 'string' })
          ?.evaluate()
      : undefined
  const { find, remove } = compileLocation(location, (exchange) =>
    evaluate?.(variablesOf(exchange)),
  )

  const settle = (exchange: Exchange, outcome: Verified | Refusal): Outcome => {
    if (isRefusal(outcome)) return mode === 'Permissive' ? undefined : unauthorized(outcome)
    exchange.identify(policy, 'jwt', outcome.claims)
    return undefined
  }

  return (exchange) => {
    const token = find(exchange)
    if (token === undefined) return mode === 'Strict' ? unauthorized(MISSING) : undefined
    // A token that was not believed here is not passed on either: the backend might.
    if (!forward) remove(exchange)
    if (typeof token !== 'string') return settle(exchange, token)
    const outcome = checker.check(token)
    const newer = isRefusal(outcome) ? outcome.source?.refetch() : undefined
    if (newer === undefined) return settle(exchange, outcome)
    return newer.then(() => settle(exchange, checker.check(token)))
  }
}

const MISSING = refuse('missing', 'the request has no token')

/**
 * RFC 6750 §3: who sent no token is told no error. Which fault a token has is not told at all: the
 * answer is the same for each.
 */
const NO_TOKEN = challenge('Bearer realm="portcullis"')
const BAD_TOKEN = challenge('Bearer realm="portcullis", error="invalid_token"')

function challenge(value: string): Reply {
  const set = [{ name: 'www-authenticate', value }]
  return reply(401, 'authentication', '', headerEdit({ set }))
}

function unauthorized({ fault, detail }: Refusal): Reply {
  const answer = fault === 'missing' ? NO_TOKEN : BAD_TOKEN
  return { ...answer, detail: `${fault}: ${detail}` }
}
