import type { AiBackend, AiModel } from '../../model/backend.ts'
import { hashOf } from '../../model/hash.ts'
import type { Model } from '../../model/model.ts'
import { isText } from '../mcp-facts.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import { WITHOUT_MEANING } from './accounts.ts'
import { compareCalls } from './calls.ts'
import type { Decide, SemanticDiff } from './difference.ts'
import { type Entry, type Ways, waysThrough } from './entries.ts'
import { CALL_PATH } from './example.ts'
import { RULES_ABOUT_MODELS } from './unlooked.ts'

/**
 * Which models that clients name a change newly admits or denies, and to whom. Said of models that
 * both have under one name at one provider: one that is new or gone is for others to report.
 */
export function compareModelCalls(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
): SemanticDiff {
  const [old, now] = [waysThrough(before), waysThrough(after)]
  const [was, is] = [callsIn(old), callsIn(now)]
  const about = ({ model }: Entry) => `calls to \`${model}\``
  return compareCalls({ ways: old, calls: was }, { ways: now, calls: is }, decide, about)
}

/** By what is the same in both: the way and the model. */
function callsIn({ entries }: Ways): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  for (const entry of entries) {
    const { backend } = entry.where
    if (backend?.kind !== 'ai') continue
    for (const model of servedBy(backend, entry)) {
      found.set(`${entry.key} ${model.name}`, callEntry(entry, backend, model))
    }
  }
  return found
}

/** Models of the provider that clients name as they are. */
function servedBy({ models = [] }: AiBackend, { provider }: Entry): readonly AiModel[] {
  const isNamed = ({ name }: AiModel) => models.filter((one) => one.name === name).length === 1
  return models.filter(
    (model) =>
      model.provider === provider &&
      !model.isInternal &&
      model.matches === undefined &&
      !model.name.includes('*') &&
      isNamed(model),
  )
}

function callEntry(entry: Entry, backend: AiBackend, model: AiModel): Entry {
  const facts: readonly (readonly [string, Fact])[] = [
    ['request.method', isText('POST')],
    ['request.path', isText(CALL_PATH)],
    ["request.headers['content-type']", isText('application/json')],
  ]
  const own: readonly (readonly [string, Fact])[] = [['llm.requestModel', isText(model.name)]]
  const points = entry.points.map((point) => ({
    ...point,
    facts: new Map([...point.facts, ...facts, ...(point.stage === 'backend' ? own : [])]),
  }))
  const { provider: _, [RULES_ABOUT_MODELS]: __, ...others } = entry.unlooked
  const provider = backend.groups
    .flatMap(({ providers }) => providers)
    .find(({ name }) => name === entry.provider)
  const served = [provider?.provider ?? '', provider?.options ?? {}, model]
  const unlooked = { ...others, provider: hashOf(served, WITHOUT_MEANING) }
  return { ...entry, unlooked, points, model: model.name }
}
