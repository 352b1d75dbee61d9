import type { LoopTerm } from '../check/term.ts'
import { turnCost } from '../emit/metered.ts'
import * as runtime from '../emit/runtime.ts'
import { failure } from '../values/failure.ts'
import { fuel } from '../values/fuel.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import type { Explainer } from './explain.ts'
import { broken, type Explanation, evaluated, failed, OVER_BOUND } from './explanation.ts'

/** Elements beyond this number are evaluated but not kept. */
const MAX_KEPT = 20

/** Explains a macro: its body for each element. */
export function explainLoop(explainer: Explainer, term: LoopTerm, range: Explanation): Explanation {
  const elements = runtime.elementsOf(range.value)
  if (elements === undefined) return broken(term, failure.reason, [range])
  const kept: Explanation[] = [range]
  const outcome = new Outcome(term)
  const cost = turnCost(term)
  for (let i = 0; i < elements.length; i++) {
    const isDecided = outcome.isDecided
    if (isDecided && i >= MAX_KEPT) break
    if (!isDecided && (fuel.left -= cost) < 0) return broken(term, OVER_BOUND, kept)
    setVariables(explainer, term, range.value as Value, elements, i)
    const parts = isDecided
      ? [explainer.aside(() => explainer.explain(term.body))]
      : turn(explainer, term)
    if (i < MAX_KEPT) {
      const element = `${term.first.name} = ${show(explainer.frame[term.first.slot] as Value)}`
      for (const part of parts) kept.push({ ...part, element })
    }
    const error = outcome.add(
      parts,
      elements[i] as Value,
      explainer.frame[term.first.slot] as Value,
    )
    if (error !== undefined) return { ...error, term, parts: kept }
  }
  const value = outcome.end()
  if (value !== undefined) return evaluated(term, value, kept)
  return outcome.error === undefined
    ? broken(term, failure.reason, kept)
    : failed(term, [...kept, outcome.error])
}

function setVariables(
  explainer: Explainer,
  term: LoopTerm,
  range: Value,
  elements: readonly Value[],
  i: number,
): void {
  const { first, second } = term
  if (second === undefined) {
    explainer.frame[first.slot] = elements[i]
    return
  }
  explainer.frame[first.slot] = runtime.firstOf(range, elements, i)
  explainer.frame[second.slot] = runtime.secondOf(range, elements, i)
}

/** The filter, if there is one, and the body unless the filter excluded the element. */
function turn(explainer: Explainer, term: LoopTerm): readonly Explanation[] {
  if (term.filter === undefined) return [explainer.explain(term.body)]
  const filter = explainer.explain(term.filter)
  return filter.value === true ? [filter, explainer.explain(term.body)] : [filter]
}

/** The outcome of the elements so far. */
class Outcome {
  readonly #term: LoopTerm
  readonly #built: Value[] = []
  #decided: boolean | undefined
  #matches = 0
  /** An error that a later element may still absorb. */
  error: Explanation | undefined

  constructor(term: LoopTerm) {
    this.#term = term
  }

  /** Once `all` or `exists` is decided, only explanations evaluate the remaining elements. */
  get isDecided(): boolean {
    return this.#decided !== undefined
  }

  /** Returns an explanation if this element makes the whole macro an error. */
  add(parts: readonly Explanation[], element: Value, first: Value): Explanation | undefined {
    const { macro, filter } = this.#term
    const last = parts.at(-1) as Explanation
    if (filter !== undefined && parts.length === 1) {
      return last.value === false ? undefined : errorOf(last)
    }
    const { value } = last
    switch (macro) {
      case 'all':
      case 'exists':
        if (value === (macro === 'exists')) this.#decided = value
        else if (typeof value !== 'boolean') this.error ??= errorOf(last)
        return undefined
      case 'existsOne':
        if (value === true) this.#matches++
        else if (value !== false) this.error ??= errorOf(last)
        return undefined
      case 'filter':
        if (typeof value !== 'boolean') return errorOf(last)
        return value && !runtime.grow(this.#built, element) ? latestFailure(last) : undefined
      case 'map':
      case 'transformList':
        if (value === undefined) return errorOf(last)
        return runtime.grow(this.#built, value) ? undefined : latestFailure(last)
      case 'transformMap':
        if (value === undefined) return errorOf(last)
        return runtime.grow(this.#built, [first, value]) ? undefined : latestFailure(last)
      case 'transformMapEntry':
        if (value === undefined) return errorOf(last)
        return runtime.addEntries(this.#built as [Value, Value][], value)
          ? undefined
          : latestFailure(last)
    }
  }

  end(): Value | undefined {
    switch (this.#term.macro) {
      case 'all':
      case 'exists':
        if (this.#decided !== undefined) return this.#decided
        return this.error === undefined ? this.#term.macro === 'all' : undefined
      case 'existsOne':
        return this.error === undefined ? this.#matches === 1 : undefined
      case 'transformMap':
      case 'transformMapEntry':
        return runtime.endMap(this.#built as [Value, Value][])
      default:
        return this.#built
    }
  }
}

function errorOf(part: Explanation): Explanation {
  return part.value === undefined ? part : broken(part.term, 'not a bool', [])
}

function latestFailure(part: Explanation): Explanation {
  return broken(part.term, failure.reason, [])
}
