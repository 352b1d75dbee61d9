import type { LoopTerm, Term } from '../check/term.ts'
import { fuel } from '../values/fuel.ts'
import type { Value } from '../values/value.ts'
import type { Frame, Run, Test, Variables } from './functions.ts'
import { turnCost } from './metered.ts'
import * as runtime from './runtime.ts'

type Maybe = Value | undefined

/** Returned by an iteration to continue; any other value stops the loop with that result. */
const NEXT: unique symbol = Symbol('next')

/** Runs `turn` for each element with the macro's variables set; `undefined` if it cannot. */
function each(
  term: LoopTerm,
  range: Run,
  c: Variables,
  f: Frame,
  turn: (element: Value) => Maybe | typeof NEXT,
  after: () => Maybe,
): Maybe {
  const over = range(c, f)
  const elements = runtime.elementsOf(over)
  if (elements === undefined) return undefined
  const { first, second } = term
  const cost = turnCost(term)
  for (let i = 0; i < elements.length; i++) {
    if ((fuel.left -= cost) < 0) return undefined
    if (second === undefined) f[first.slot] = elements[i]
    else {
      f[first.slot] = runtime.firstOf(over as Value, elements, i)
      f[second.slot] = runtime.secondOf(over as Value, elements, i)
    }
    const stop = turn(elements[i] as Value)
    if (stop !== NEXT) return stop
  }
  return after()
}

export function loopTruth(
  term: LoopTerm,
  wanted: boolean,
  truth: (term: Term) => Test,
  falsity: (term: Term) => Test,
  value: (term: Term) => Run,
): Test {
  const range = value(term.range)
  const decisive = term.macro === 'exists'
  // Definitely decisive: at least one element is. Definitely not: every element is not.
  const looksForOne = wanted === decisive
  const body = (looksForOne ? decisive : !decisive) ? truth(term.body) : falsity(term.body)
  return (c, f) =>
    each(
      term,
      range,
      c,
      f,
      () => (body(c, f) === looksForOne ? looksForOne : NEXT),
      () => !looksForOne,
    ) === true
}

export function loopValue(term: LoopTerm, value: (term: Term) => Run): Run {
  const range = value(term.range)
  const body = value(term.body)
  const filter = term.filter === undefined ? undefined : value(term.filter)
  switch (term.macro) {
    case 'all':
    case 'exists':
      return quantified(term, range, body, term.macro === 'exists')
    case 'existsOne':
      return (c, f) => {
        let matches = 0
        let failed = false
        const turn = (): typeof NEXT => {
          const v = body(c, f)
          if (v === true) matches++
          else if (v !== false) failed = true
          return NEXT
        }
        return each(term, range, c, f, turn, () => (failed ? undefined : matches === 1))
      }
    case 'filter':
      return (c, f) => {
        const list: Value[] = []
        const turn = (element: Value) => {
          const v = body(c, f)
          if (v === true) return runtime.grow(list, element) ? NEXT : undefined
          return v === false ? NEXT : undefined
        }
        return each(term, range, c, f, turn, () => list)
      }
    case 'map':
    case 'transformList':
      return built(
        term,
        range,
        filter,
        body,
        (list, v) => v !== undefined && runtime.grow(list, v),
        (list) => list,
      )
    case 'transformMap':
      return built(
        term,
        range,
        filter,
        body,
        (list, v, key) => v !== undefined && runtime.grow(list, [key, v]),
        (list) => runtime.endMap(list as [Value, Value][]),
      )
    case 'transformMapEntry':
      return built(
        term,
        range,
        filter,
        body,
        (list, v) => runtime.addEntries(list as [Value, Value][], v),
        (list) => runtime.endMap(list as [Value, Value][]),
      )
  }
}

function quantified(term: LoopTerm, range: Run, body: Run, decisive: boolean): Run {
  return (c, f) => {
    let failed = false
    const turn = () => {
      const v = body(c, f)
      if (v === decisive) return v
      if (v !== !decisive) failed = true
      return NEXT
    }
    return each(term, range, c, f, turn, () => (failed ? undefined : !decisive))
  }
}

function built(
  term: LoopTerm,
  range: Run,
  filter: Run | undefined,
  body: Run,
  add: (list: Value[], value: Maybe, key: Value) => boolean,
  end: (list: Value[]) => Maybe,
): Run {
  const { slot } = term.first
  return (c, f) => {
    const list: Value[] = []
    const turn = () => {
      if (filter !== undefined) {
        const kept = filter(c, f)
        if (kept === false) return NEXT
        if (kept !== true) return undefined
      }
      const key = f[slot] as Value
      return add(list, body(c, f), key) ? NEXT : undefined
    }
    return each(term, range, c, f, turn, () => end(list))
  }
}
