import { type Outcome, runSteps, type Step } from '../exchange/step.ts'

const NOTHING: Step = () => undefined

/**
 * Steps as one: nothing to run costs nothing, and few are called from code that knows how many
 * they are, at half the cost of a loop over them.
 */
export function linkSteps(steps: readonly Step[]): Step {
  const [a, b, c, d] = steps as [Step, Step, Step, Step]
  switch (steps.length) {
    case 0:
      return NOTHING
    case 1:
      return a
    case 2:
      return (exchange) => {
        const outcome = a(exchange)
        return outcome === undefined ? b(exchange) : goOn(outcome, steps, exchange, 1)
      }
    case 3:
      return (exchange) => {
        const first = a(exchange)
        if (first !== undefined) return goOn(first, steps, exchange, 1)
        const second = b(exchange)
        return second === undefined ? c(exchange) : goOn(second, steps, exchange, 2)
      }
    case 4:
      return (exchange) => {
        const first = a(exchange)
        if (first !== undefined) return goOn(first, steps, exchange, 1)
        const second = b(exchange)
        if (second !== undefined) return goOn(second, steps, exchange, 2)
        const third = c(exchange)
        return third === undefined ? d(exchange) : goOn(third, steps, exchange, 3)
      }
    default:
      return linkSteps([linkSteps(steps.slice(0, 4)), linkSteps(steps.slice(4))])
  }
}

function goOn(
  outcome: Outcome | Promise<Outcome>,
  steps: readonly Step[],
  exchange: Parameters<Step>[0],
  next: number,
): Outcome | Promise<Outcome> {
  if (!(outcome instanceof Promise)) return outcome
  return outcome.then((answer) => answer ?? runSteps(steps, exchange, next))
}
