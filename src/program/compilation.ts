import type { Reply } from '../exchange/reply.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { CompileContext } from '../policies/define.ts'
import { type KnownRoutes, Reach } from '../reach/reach.ts'
import { Clusters } from './clusters.ts'
import { CompileContexts } from './compile-context.ts'
import type { CompileDeps } from './compile-deps.ts'
import { connectTo } from './connect.ts'
import { Layers } from './layers.ts'
import type { BackendProgram, Program, RouteProgram } from './program.ts'
import { SectionCompiler } from './section.ts'
import type { Recorded } from './uses.ts'

/** How a route chooses its backend, and what that reads. */
export interface Choosing {
  readonly choose: RouteProgram['choose']
  readonly readsBody: boolean
  readonly readsBeginning: boolean
  readonly decodesBody: boolean
  readonly errorFormat: RouteProgram['errorFormat']
}

/** State that the parts of one compilation share. */
export interface Compilation {
  readonly model: Model
  readonly services: CompileDeps
  /** With separate policies at each place. */
  readonly reach: Reach
  readonly contexts: CompileContexts
  readonly sections: SectionCompiler
  readonly clusters: Clusters
  readonly backendPrograms: Map<string, Recorded<BackendProgram | Reply>>
  /** Keyed by backend name. */
  readonly plainChoices: Map<string, Recorded<Choosing>>
}

export function openCompilation(
  model: Model,
  previous: Program | undefined,
  services: CompileDeps,
): Compilation {
  const layers = new Layers()
  const { policyDeps, sampler } = services
  const connect: CompileContext['connect'] = (...asked) => connectTo(compilation, ...asked)
  const now = clockOf(services)
  const contexts = new CompileContexts({
    now,
    previous,
    placeOf: placesOf(layers),
    policyDeps,
    sampler,
    connect,
  })
  const compilation: Compilation = {
    model,
    services,
    reach: new Reach(model, (place, policies) => layers.at(place, policies), routesOf(previous)),
    contexts,
    sections: new SectionCompiler(contexts, services),
    clusters: new Clusters(services, previous, contexts),
    backendPrograms: new Map(),
    plainChoices: new Map(),
  }
  return compilation
}

function routesOf(previous: Program | undefined): KnownRoutes | undefined {
  const { parts, model } = previous ?? {}
  if (parts === undefined || model === undefined) return undefined
  return { routes: model.routes, byGateway: parts.routesByGateway }
}

/** A separate function: a policy keeps its clock, and a closure retains everything in its scope. */
function clockOf(services: CompileDeps): () => number {
  return () => services.now()
}

function placesOf(layers: Layers): (policy: Attached) => string {
  return (policy) => layers.placeOf(policy)
}

/**
 * Called when everything is compiled. Closures of a part may reference the compilation because they
 * retain everything in their scope, but must not keep its Model or earlier Programs alive.
 */
export function closeCompilation(compilation: Compilation): void {
  const { contexts, clusters } = compilation
  contexts.close()
  clusters.close()
  for (const key of Object.keys(compilation)) Reflect.deleteProperty(compilation, key)
}
