import type { Attached, ValidPolicy } from '../../../model/policy.ts'
import type { Cors } from '../../../policies/cors/schema.ts'
import { layersOf } from '../../../reach/all-layers.ts'
import { effectiveAt } from '../../../reach/effective.ts'
import { layerAt } from '../../../reach/layers.ts'
import type { Check } from '../check.ts'
import { listed } from '../place.ts'

/** AZ025: preflight requests do not reach a route that requires a header of the actual request. */
export const preflightHeaders: Check = function* ({ model }) {
  for (const { name, policies, rules, origin } of model.routes) {
    for (const [index, rule] of rules.entries()) {
      const layers = [
        layerAt(`route ${name}`, policies),
        layerAt(`rule ${name}/${index}`, rule.policies),
      ]
      const [cors] = effectiveAt(layers, 'traffic').byKind.get('cors') ?? []
      if (cors === undefined || !rule.matches.every(({ headers }) => headers.length > 0)) continue
      const names = rule.matches.flatMap(({ headers }) => headers.map((one) => one.name))
      // Browsers do send these.
      if (names.every((one) => /^(?:host|origin)$/i.test(one))) continue
      yield {
        diagnostic: {
          code: 'AZ025',
          severity: 'warning',
          message: `preflight requests do not reach route \`${name}\`: it requires ${listed(names)}, which browsers do not send in a preflight request`,
          hint: 'add a match without the header and with `method: OPTIONS`, or set `cors` on the listener or the gateway',
          origin: cors.origin ?? origin,
        },
      }
    }
  }
}

/** AZ026: pages from any origin can read what the user of a browser can. */
export const openOrigins: Check = function* ({ model }) {
  for (const { policies } of layersOf(model)) {
    for (const { value, origin } of policies.filter(isCors)) {
      if (!value.allowCredentials || !value.allowOrigins.some(isAnyOrigin)) continue
      yield {
        diagnostic: {
          code: 'AZ026',
          severity: 'warning',
          message:
            'pages from any origin can send requests with the credentials of the user and read the responses',
          hint: 'list the origins in `allowOrigins`, or remove `allowCredentials`',
          origin,
        },
      }
    }
  }
}

function isAnyOrigin(origin: string): boolean {
  return origin === '*' || origin === 'null' || /^https?:\/\/\*(?::|$)/.test(origin)
}

function isCors(policy: Attached): policy is ValidPolicy<Cors> {
  return policy.state === 'valid' && policy.kind === 'cors'
}
