import type { Reply } from '../exchange/reply.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Site } from '../policies/define.ts'
import { Reach } from '../reach/reach.ts'
import type { Choosing } from './backends.ts'
import { Clusters } from './clusters.ts'
import { connectTo } from './connect.ts'
import { Layers } from './layers.ts'
import type { BackendProgram, Program } from './program.ts'
import { SectionCompiler } from './section.ts'
import type { Services } from './services.ts'
import { Sites } from './site.ts'
import type { Recorded } from './uses.ts'

/** What the parts of one compilation share. */
export interface Compilation {
  readonly model: Model
  readonly services: Services
  /** With policies of their own at each place. */
  readonly reach: Reach
  readonly sites: Sites
  readonly sections: SectionCompiler
  readonly clusters: Clusters
  readonly backendPrograms: Map<string, Recorded<BackendProgram | Reply>>
  /** By the name of the backend. */
  readonly plainChoices: Map<string, Recorded<Choosing>>
}

export function openCompilation(
  model: Model,
  previous: Program | undefined,
  services: Services,
): Compilation {
  const layers = new Layers()
  const { now, world, scrutiny } = services
  const placeOf = (policy: Attached) => layers.placeOf(policy)
  const connect: Site['connect'] = (...asked) => connectTo(compilation, ...asked)
  const options = { now: () => now.call(services), previous, placeOf, world, scrutiny, connect }
  const sites = new Sites(options)
  const compilation: Compilation = {
    model,
    services,
    reach: new Reach(model, (place, policies) => layers.at(place, policies)),
    sites,
    sections: new SectionCompiler(sites, services),
    clusters: new Clusters(services, previous, sites),
    backendPrograms: new Map(),
    plainChoices: new Map(),
  }
  return compilation
}

/** Parts that know it must not keep this Model, or earlier Programs, alive. */
export function closeCompilation({ sites, clusters, ...maps }: Compilation): void {
  sites.close()
  clusters.close()
  maps.backendPrograms.clear()
  maps.plainChoices.clear()
}
