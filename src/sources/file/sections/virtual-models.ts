import type * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { nearestName } from '../../../diagnostics/nearest.ts'
import type { AiModel, VirtualModel, VirtualTarget } from '../../../model/backend.ts'
import { matchingModels } from '../../../model/model-names.ts'
import { omitUndefined } from '../omit-undefined.ts'
import { complain, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import type { virtualModel } from './llm-schema.ts'

interface WrittenTarget {
  readonly model: string
  readonly weight?: number
  readonly priority?: number
  readonly when?: string
}

const KINDS = ['weighted', 'failover', 'conditional'] as const

/** Reads the names that select among models; each target must be one of the models. */
export function readVirtualModels(
  reading: Reading,
  llm: SectionNode,
  written: readonly z.output<typeof virtualModel>[],
  models: readonly AiModel[],
  problems: Diagnostic[],
): readonly VirtualModel[] {
  const known = new Set(models.map(({ name }) => name))
  return written.flatMap(({ name, routing }, index) => {
    const node = llm.inner('virtualModels', index)
    const kind = KINDS.find((one) => routing[one] !== undefined)
    if (kind === undefined) return []
    if (known.has(name)) {
      const message = `another model is already named \`${name}\``
      const said = { code: 'PC0303', message, hint: 'use a unique name for each' } as const
      problems.push(complain(reading, node.inner('name'), said))
    }
    known.add(name)
    const all = (routing[kind]?.targets ?? []) as readonly WrittenTarget[]
    const targets = all.flatMap(({ model, ...rest }, at): VirtualTarget[] => {
      const place = node.inner('routing', kind, 'targets', at, 'model')
      const found = models.find(({ provider }) => provider === model)
      const provider = (found ?? matchingModels(models, model)[0])?.provider
      if (provider === undefined) {
        problems.push(complainOfTarget(reading, place, model, models))
        return []
      }
      // A model found by its id is requested by its name.
      const asked = found === undefined || found.name.includes('*') ? model : found.name
      return [omitUndefined({ provider, model: asked, ...rest }) as VirtualTarget]
    })
    return [{ name, origin: node.origin, routing: kind, targets }]
  })
}

function complainOfTarget(
  reading: Reading,
  node: SectionNode,
  name: string,
  models: readonly AiModel[],
): Diagnostic {
  const names = models.map((model) => model.name)
  const meant = nearestName(name, names)
  const hint =
    meant === undefined ? `available models: ${names.join(', ')}` : `did you mean \`${meant}\`?`
  return complain(reading, node, { code: 'PC0302', message: `unknown model \`${name}\``, hint })
}
