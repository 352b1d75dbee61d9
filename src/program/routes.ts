import { reply } from '../exchange/reply.ts'
import type { Step } from '../exchange/step.ts'
import { rankOf } from '../model/hostnames.ts'
import { NO_TIMEOUTS } from '../policies/delivery.ts'
import type { RulePlace, Where } from '../reach/where.ts'
import { compileChoice, compileMirrors } from './backends.ts'
import type { Compilation } from './compilation.ts'
import type { CompiledSection } from './compiled-section.ts'
import type { PlacedRoute } from './parts.ts'
import type { RouteProgram } from './program.ts'
import type { Recorded } from './uses.ts'

const NO_ROUTE = reply(404, 'no-route')

/** `known`: its compiled policies, if nothing about these changed. */
export function compileRule(
  compilation: Compilation,
  where: RulePlace,
  known?: Recorded<CompiledSection>,
): { readonly target: PlacedRoute; readonly traffic: Recorded<CompiledSection> | undefined } {
  const { gateway, listener, route, rule, hostnames } = where
  const attributes = { gateway: gateway.name, listener: listener.name, route: route.name }
  if (rule.action.kind === 'invalid') {
    const names = { name: route.name, rule: rule.name, attributes }
    return { target: { ...names, ...responding(500, 'invalid-route') }, traffic: undefined }
  }
  const { contexts, sections } = compilation
  const layers = compilation.reach.around(where)
  const made = known ?? contexts.record(() => sections.compile(layers, 'traffic'))
  contexts.uses.link(made.uses)
  const traffic = made.value
  const choice = compileChoice(compilation, where, layers)
  const target = {
    name: route.name,
    rule: rule.name,
    attributes,
    namesHost: hostnames.length > 0 || rankOf(listener.hostname) > 0,
    steps: traffic.steps,
    run: traffic.run,
    kinds: traffic.kinds,
    readsBody: traffic.readsBody || choice.readsBody,
    readsBeginning: traffic.readsBeginning || choice.readsBeginning,
    bodyPaths: traffic.bodyPaths,
    decodesBody: traffic.decodesBody || choice.decodesBody,
    choose: choice.choose,
    timeouts: traffic.timeouts,
    retry: traffic.retry,
    authentications: traffic.authentications,
    decider: traffic.decider,
    meters: traffic.meters,
    errorFormat: choice.errorFormat,
    mirrors: compileMirrors(compilation, traffic.mirrors, layers, rule.origin),
    responseParts: traffic.responseParts,
    requestBodies: traffic.requestBodies,
  }
  return { target, traffic: made }
}

/** For requests that match no route: runs the policies around it and then responds with 404. */
export function compileUnmatched(compilation: Compilation, where: Where): PlacedRoute {
  const layers = compilation.reach.around(where)
  const traffic = compilation.sections.compile(layers, 'traffic')
  const { steps, run, kinds, readsBody, readsBeginning, bodyPaths, decodesBody, timeouts } = traffic
  const { authentications, decider } = traffic
  const attributes = { gateway: where.gateway.name, listener: where.listener.name }
  const names = { name: '', rule: '', attributes }
  const reads = { readsBody, readsBeginning, bodyPaths, decodesBody }
  const { responseParts } = traffic
  const own = { steps, run, kinds, ...reads, timeouts, authentications, decider, responseParts }
  return { ...names, ...NOWHERE, ...own, choose: () => NO_ROUTE }
}

const NOWHERE = { timeouts: NO_TIMEOUTS, retry: undefined, mirrors: [] }

/** For requests whose route cannot be determined because matching would cost too much. */
export function rejectedRoute({ gateway, listener }: Where): PlacedRoute {
  const attributes = { gateway: gateway.name, listener: listener.name }
  return { name: '', rule: '', attributes, ...responding(500, 'route-too-costly') }
}

/** A page of the gateway itself: policies of routes do not apply to it. */
export function pageRoute(gateway: string, listener: string, step: Step): PlacedRoute {
  const names = { name: '', rule: '', attributes: { gateway, listener } }
  const choose = () => NO_ROUTE
  return { ...names, ...NOWHERE, steps: [step], run: step, readsBody: false, choose }
}

function responding(status: number, detail: string): Omit<RouteProgram, 'name' | 'rule'> {
  const response = { ...reply(status, 'invalid-configuration'), detail }
  const step: Step = () => response
  return { ...NOWHERE, steps: [step], run: step, readsBody: false, choose: () => response }
}
