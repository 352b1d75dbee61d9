// HOT PATH: turns terms into JavaScript functions. Guarded by bench/cel.ts; equals ./closures.ts.
// The only file that may call `new Function`; only ./source.ts writes the source passed to it.

import type { Term } from '../check/term.ts'
import * as operators from '../library/operators.ts'
import { begin, end, fuel } from '../values/fuel.ts'
import { Optional } from '../values/optional.ts'
import type { Evaluate, Predicate } from './functions.ts'
import * as runtime from './runtime.ts'
import { Source } from './source.ts'

const RUNTIME: Record<string, unknown> = {
  ...pick(runtime, [
    'getField',
    'getHeader',
    'optField',
    'testField',
    'getIndex',
    'optIndex',
    'isEqual',
    'isMember',
  ]),
  ...pick(runtime, ['call', 'makeList', 'makeMap', 'elementsOf', 'firstOf', 'secondOf', 'grow']),
  ...pick(runtime, ['addEntries', 'endMap', 'some', 'flat', 'own', 'equals']),
  ...pick(runtime, ['hasText', 'isSameText', 'holdsText', 'beginsWith', 'finishesWith']),
  ...pick(operators, ['add', 'subtract', 'multiply', 'divide', 'modulo', 'negate']),
  ...pick(operators, ['less', 'lessOrEqual', 'greater', 'greaterOrEqual', 'sizeOf', 'holds']),
  Optional,
  fuel,
  begin,
  end,
}

interface Template {
  readonly make: (...constants: unknown[]) => unknown
  /** The value of `made` when this template was last used. */
  usedAt: number
}

/**
 * Functions by their source: similar rules share one, so that it gets hot. Bounded, since names in
 * expressions make sources differ: templates that no recent configuration used are evicted, and
 * beyond the limit expressions run as closures.
 */
const templates = new Map<string, Template>()
const MAX_TEMPLATES = 2_000
const RECENT = 10_000
let made = 0

/** `undefined` if the process may not generate code, or has generated enough of it. */
export function generatePredicate(term: Term, budget: number): Predicate | undefined {
  const source = new Source()
  const truth = source.truth(term)
  if (!source.metered) return instantiate(source, `return ${truth}`)
  const b = source.constant(budget)
  return instantiate(source, metered(b, `${truth}&&fuel.left>=0`))
}

export function generateEvaluate(term: Term, budget: number): Evaluate | undefined {
  const source = new Source()
  const value = source.value(term)
  if (!source.metered) return instantiate(source, `return ${value}`)
  const b = source.constant(budget)
  return instantiate(source, metered(b, `${value}`, 'fuel.left<0?undefined:v'))
}

function metered(budget: string, value: string, result = 'v'): string {
  return `let v;begin(c,${budget});try{v=${value}}finally{end()}return ${result}`
}

/** The source that runs, for tests that check for content that must not appear in it. */
export function generatedSource(term: Term): string {
  const source = new Source()
  return source.whole(`return ${source.truth(term)}`) + source.whole(`return ${source.value(term)}`)
}

function instantiate<T>(source: Source, body: string): T | undefined {
  const { constants } = source
  const parameters = constants.map((_, i) => `k${i}`).join()
  const text = `return (${parameters}) => {${source.whole(body)}}`
  const template = templates.get(text) ?? newTemplate(text)
  if (template === undefined) return undefined
  template.usedAt = ++made
  return template.make(...constants.map(interned)) as T
}

/**
 * V8 keeps one copy of each string that is a property name. Short strings in JSON are such copies
 * too: if both sides are, `==` compares two addresses, which halves the cost of a rule.
 */
function interned(constant: unknown): unknown {
  if (typeof constant !== 'string') return constant
  for (const name in { [constant]: true }) return name
  return constant
}

function newTemplate(text: string): Template | undefined {
  if (!mayGenerate() || !hasRoom()) return undefined
  const make = new Function(...Object.keys(RUNTIME), text)(...Object.values(RUNTIME))
  const template: Template = { make, usedAt: made }
  templates.set(text, template)
  return template
}

function hasRoom(): boolean {
  if (templates.size < MAX_TEMPLATES) return true
  for (const [text, { usedAt }] of templates) if (made - usedAt > RECENT) templates.delete(text)
  return templates.size < MAX_TEMPLATES
}

let allowed: boolean | undefined

/** False under --disallow-code-generation-from-strings or a strict content security policy. */
function mayGenerate(): boolean {
  if (allowed === undefined) {
    try {
      allowed = new Function('return true')() === true
    } catch {
      allowed = false
    }
  }
  return allowed
}

function pick<T extends object>(from: T, names: readonly (keyof T)[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, from[name]]))
}
