// HOT PATH: the policies of a route. Guarded by bench/proxy.ts.

import { errorIn } from '../exchange/policy-error.ts'
import type { Outcome, Step } from '../exchange/step.ts'
import type { PolicyPlace } from '../model/policy.ts'

const NO_STEP: Step = () => undefined

const places = new WeakMap<Step, PolicyPlace>()

/** Records the policy of a step, so that errors thrown by the step can be attributed to it. */
export function placeStep(step: Step, policy: PolicyPlace): Step {
  places.set(step, policy)
  return step
}

/** The policy of a step; the first one if there are several of a kind. */
export function placeOf(step: Step): PolicyPlace | undefined {
  return places.get(step)
}

/**
 * Links steps into one function: an empty list costs nothing, and up to four steps are called from
 * unrolled code, at half the cost of a loop. Errors are thrown with the policy of the step.
 * Tracking the current step takes only a local variable, the only cost for a request without
 * errors.
 */
export function linkSteps(steps: readonly Step[]): Step {
  const [a, b, c, d] = steps as [Step, Step, Step, Step]
  switch (steps.length) {
    case 0:
      return NO_STEP
    case 1:
      return (exchange) => {
        try {
          const outcome = a(exchange)
          return outcome === undefined ? undefined : goOn(outcome, steps, exchange, 1)
        } catch (error) {
          throw errorIn(places.get(a), error)
        }
      }
    case 2:
      return (exchange) => {
        let at = a
        try {
          const first = a(exchange)
          if (first !== undefined) return goOn(first, steps, exchange, 1)
          at = b
          const last = b(exchange)
          return last === undefined ? undefined : goOn(last, steps, exchange, 2)
        } catch (error) {
          throw errorIn(places.get(at), error)
        }
      }
    case 3:
      return (exchange) => {
        let at = a
        try {
          const first = a(exchange)
          if (first !== undefined) return goOn(first, steps, exchange, 1)
          at = b
          const second = b(exchange)
          if (second !== undefined) return goOn(second, steps, exchange, 2)
          at = c
          const last = c(exchange)
          return last === undefined ? undefined : goOn(last, steps, exchange, 3)
        } catch (error) {
          throw errorIn(places.get(at), error)
        }
      }
    case 4:
      return (exchange) => {
        let at = a
        try {
          const first = a(exchange)
          if (first !== undefined) return goOn(first, steps, exchange, 1)
          at = b
          const second = b(exchange)
          if (second !== undefined) return goOn(second, steps, exchange, 2)
          at = c
          const third = c(exchange)
          if (third !== undefined) return goOn(third, steps, exchange, 3)
          at = d
          const last = d(exchange)
          return last === undefined ? undefined : goOn(last, steps, exchange, 4)
        } catch (error) {
          throw errorIn(places.get(at), error)
        }
      }
    default:
      return linkSteps([linkSteps(steps.slice(0, 4)), linkSteps(steps.slice(4))])
  }
}

/** Continues after the step before `next`, which did not return undefined synchronously. */
function goOn(
  outcome: Exclude<Outcome, undefined> | Promise<Outcome>,
  steps: readonly Step[],
  exchange: Parameters<Step>[0],
  next: number,
): Outcome | Promise<Outcome> {
  const step = steps[next - 1] as Step
  if (!(outcome instanceof Promise)) return repliedBy(step, exchange, outcome)
  return outcome.then(
    (response) =>
      response === undefined ? runFrom(steps, exchange, next) : repliedBy(step, exchange, response),
    (error: unknown) => {
      throw errorIn(places.get(step), error)
    },
  )
}

/** The record of the response names the policy. Linked steps have none: the step itself set it. */
function repliedBy(step: Step, exchange: Parameters<Step>[0], outcome: Outcome): Outcome {
  const place = places.get(step)
  if (place !== undefined) exchange.repliedBy = place
  return outcome
}

function runFrom(
  steps: readonly Step[],
  exchange: Parameters<Step>[0],
  from: number,
): Outcome | Promise<Outcome> {
  for (let i = from; i < steps.length; i++) {
    const step = steps[i] as Step
    try {
      const outcome = step(exchange)
      if (outcome !== undefined) return goOn(outcome, steps, exchange, i + 1)
    } catch (error) {
      throw errorIn(places.get(step), error)
    }
  }
  return undefined
}
