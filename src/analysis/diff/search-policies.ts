import { canonicalJson } from '../../model/json.ts'
import type { Budget } from '../../policies/budgets/schema.ts'
import type { RateLimit } from '../../policies/local-rate-limit/schema.ts'
import type { Api } from '../../protocols/llm/schema.ts'
import { solve } from '../symbolic/solve.ts'
import { callCondition, mayServe, plainApisOf } from './call-forms.ts'
import { CALLS, shaped, UNTRANSLATABLE } from './call-shapes.ts'
import type { Entry } from './entries.ts'
import { ask, example, type Found, firstExample, type Sides, variantsOf } from './find-example.ts'
import { unlookedText } from './reasons.ts'
import type { CallShape } from './request-form.ts'
import { LIMITS, type Limit, limitsOf, otherKinds, SERVED } from './unlooked.ts'

/* Differences other than rules, of which real requests show the effect. */

interface Shown {
  readonly examples: readonly Found[]
  readonly untold?: string
}

const NO_EXAMPLES: Shown = { examples: [] }

/** Requests that only one side serves because of its model provider. */
export function searchServed(entry: Entry, other: Entry, sides: Sides): Shown {
  const kinds = otherKinds(entry, other).filter((kind) => SERVED.has(kind))
  if (kinds.length === 0) return NO_EXAMPLES
  const { form } = entry
  const shapes = form?.shapes ?? []
  const isCall = form?.name === 'call' || form?.name === 'stored'
  const unsure = isCall ? apisToTry(entry, other, sides) : undefined
  if (unsure?.length === 0) return NO_EXAMPLES
  const tried = unsure === undefined ? shapes : [...shapes, ...UNTRANSLATABLE].filter(isIn(unsure))
  const variants = tried.length === 0 ? [entry] : tried.map((shape) => shaped(entry, shape))
  const { found } = firstExample(
    variants.map((variant) => () => {
      const { given, facts } = ask(variant, other, sides, 'search')
      return example(given, variant, facts, sides, other)
    }),
  )
  return found === undefined ? { examples: [], untold: unlookedText(kinds) } : { examples: [found] }
}

const isIn =
  (apis: readonly Api[]) =>
  ({ api }: CallShape) =>
    api === undefined || apis.includes(api)

/** The APIs in which calls reach the entry, and for which the other provider may reject them. */
function apisToTry(entry: Entry, other: Entry, sides: Sides): readonly Api[] {
  const plain = plainApisOf(other)
  const apis = entry.form?.name === 'stored' ? STORING : ALL_APIS
  return apis.filter((api) => {
    if (plain.has(api) || !mayServe(entry, api)) return false
    const condition = callCondition(api, entry)
    if (condition === undefined || entry.form === undefined) return true
    const calls = { ...entry, form: { ...entry.form, condition } }
    return solve(ask(calls, other, sides, 'proof').given).kind !== 'impossible'
  })
}

/** Of what is stored, only these know anything. */
const STORING: readonly Api[] = ['responses']
const ALL_APIS = [...new Set(CALLS.flatMap(({ api }) => api ?? []))]

/** A limit that only the other side has, or that is lower there, denies requests once it is reached. */
export function searchLimits(entry: Entry, other: Entry, sides: Sides): Shown {
  const kinds = otherKinds(entry, other).filter((kind) => LIMITS.has(kind))
  const shown = kinds.map((kind) => searchLimit(kind, entry, other, sides))
  const missing = shown.find(({ untold }) => untold !== undefined)
  const [first = NO_EXAMPLES] = shown.filter(({ examples }) => examples.length > 0)
  return missing?.untold === undefined ? first : { ...first, untold: missing.untold }
}

function searchLimit(kind: string, entry: Entry, other: Entry, sides: Sides): Shown {
  const isCounted = isAbout(entry)
  const [own, others] = [limitsOf(entry, kind), limitsOf(other, kind)]
  const [counting, counted] = [own.filter(isCounted), others.filter(isCounted)]
  // Requests whose usage cannot be measured are denied.
  const isRead = own.length > counting.length || others.length === counted.length
  const isUnread = entry.form?.name === 'other' && !isRead
  if (!isUnread && isAsHigh(counting, counted)) return NO_EXAMPLES
  const reason = `429 once the limit of \`${kind}\` is reached`
  const isOver = isReached(counting, counted)
  const decideFrom: Sides['decideFrom'] = (request) => {
    const verdict = sides.decideFrom(request)
    if (verdict?.isAdmitted !== true || !isOver) return verdict
    return { ...verdict, isAdmitted: false, reason }
  }
  const { found } = firstExample(
    variantsOf(entry)
      .filter(({ form, shape }) => form?.name !== 'call' || shape?.isGeneration === true)
      .map((variant) => () => {
        const { given, facts } = ask(variant, other, sides, 'search')
        return example(given, variant, facts, { ...sides, decideFrom }, other)
      }),
  )
  if (found === undefined) return { examples: [], untold: unlookedText([kind]) }
  return { examples: [found.denying.reason === reason ? { ...found, isOverLimit: true } : found] }
}

/** Budgets, and limits on tokens, count nothing but calls to models. */
function isAbout({ form }: Entry): (limit: Limit) => boolean {
  if (form?.name === 'call') return () => true
  return ({ value }) => !isBudget(value) && !(isRate(value) && value.type === 'tokens')
}

/** Whether the limits of `other` deny nothing that those of `own` do not deny as well. */
function isAsHigh(own: readonly Limit[], other: readonly Limit[]): boolean {
  return other.every((limit) =>
    own.some((one) => one.place === limit.place && isHigher(one.value, limit.value)),
  )
}

function isHigher(low: unknown, high: unknown): boolean {
  if (canonicalJson(low) === canonicalJson(high)) return true
  if (isBudget(low) && isBudget(high)) {
    const bare = ({ amount: _, ...rest }: Budget) => canonicalJson(rest)
    return bare(low) === bare(high) && high.amount >= low.amount
  }
  if (!isRate(low) || !isRate(high)) return false
  const bare = ({ capacity: _, refill: __, interval: ___, ...rest }: RateLimit) =>
    canonicalJson(rest)
  return (
    bare(low) === bare(high) &&
    high.capacity >= low.capacity &&
    // The same steps, so that it is never behind in between.
    high.interval === low.interval &&
    high.refill >= low.refill
  )
}

/** Whether requests that no rule denies reach a limit of `other` before they reach one of `own`. */
function isReached(own: readonly Limit[], other: readonly Limit[]): boolean {
  const [first] = own
  if (first !== undefined) {
    const [only, ...more] = other
    if (only === undefined || own.length + more.length > 1) return false
    return first.place === only.place && isHigher(only.value, first.value)
  }
  return other.some(({ value }) => {
    if (isBudget(value)) return value.measure !== 'usd' && value.models === undefined
    return isRate(value)
  })
}

function isBudget(limit: unknown): limit is Budget {
  return typeof limit === 'object' && limit !== null && 'measure' in limit
}

function isRate(limit: unknown): limit is RateLimit {
  return typeof limit === 'object' && limit !== null && 'capacity' in limit
}
