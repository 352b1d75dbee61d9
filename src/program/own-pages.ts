import type { Exchange } from '../exchange/exchange.ts'
import type { OwnPage } from '../exchange/own-page.ts'
import { reply } from '../exchange/reply.ts'
import { runSteps, type Step } from '../exchange/step.ts'
import type { PlacedRoute } from './parts.ts'
import type { ListenerProgram } from './program.ts'
import { pageRoute } from './routes.ts'

const UNKNOWN = 'This page does not exist or has expired. Start again.\n'

/**
 * Makes a listener serve the gateway's own pages before any route: browsers request them without
 * the credentials that routes require.
 */
export function withPages(program: ListenerProgram, pages: readonly OwnPage[]): ListenerProgram {
  if (pages.length === 0) return program
  const steps = new Map<string, Step[]>()
  for (const { host, path, step } of pages) {
    const key = `${host}${path}`
    steps.set(key, [...(steps.get(key) ?? []), step])
  }
  const routes = new Map<string, PlacedRoute>()
  for (const [key, own] of steps) {
    const none: Step = () => reply(400, 'bad-request', UNKNOWN)
    const step: Step = (exchange) => runSteps([...own, none], exchange)
    routes.set(key, pageRoute(program.gateway, program.listener.name, step))
  }
  const { match } = program
  const matchPages = (exchange: Exchange) => {
    const { host, path } = exchange.request
    const page = routes.get(`${host}${path}`)
    if (page === undefined) return match(exchange)
    exchange.proxy = page.attributes
    return page
  }
  return { ...program, match: matchPages }
}
