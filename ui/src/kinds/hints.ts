import type { Kind } from '../forms/schema.ts'
import { backends } from './backends.ts'
import { KEY_FORMS } from './keys-and-budgets.ts'
import type { FormHints, KindHints, Start } from './kind-hints.ts'
import { llm } from './llm.ts'
import { mcp } from './mcp.ts'
import { frontendPolicies, gateways, policies, ui } from './others.ts'
import { routeGroups, routes, tcpRoutes } from './routes.ts'

/** In the order in which kinds are offered. */
export const HINTS: Readonly<Record<Kind, KindHints>> = {
  routes,
  backends,
  llm,
  mcp,
  policies,
  gateways,
  tcpRoutes,
  routeGroups,
  frontendPolicies,
  ui,
}

const FORMS: Readonly<Record<string, FormHints>> = Object.assign(
  {},
  KEY_FORMS,
  ...Object.values(HINTS).map(({ forms }) => forms),
)

const NONE: Partial<FormHints> = {}

export function hintsAt(place: string): Partial<FormHints> {
  return FORMS[place] ?? NONE
}

/** The value with something added, and the path of it. */
export function started(
  value: unknown,
  { to, value: more, isItem }: Pick<Start, 'to' | 'value' | 'isItem'>,
): { readonly value: unknown; readonly path: readonly (string | number)[] } {
  const [step, ...rest] = to
  if (step === undefined) {
    if (!isItem) return { value: value ?? more, path: [] }
    const items = Array.isArray(value) ? value : []
    return { value: [...items, more], path: [items.length] }
  }
  const fields = (value ?? {}) as Readonly<Record<string, unknown>>
  const inner = started(fields[step], { to: rest, value: more, isItem })
  return { value: { ...fields, [step]: inner.value }, path: [step, ...inner.path] }
}
