import type { Stage } from '../../../src/cel/index.ts'
import type { FieldPath } from '../text/places.ts'
import { type Kind, type Schema, schemaOfKind } from './schema.ts'
import { shapeOf } from './shape.ts'
import { stageOfPolicy } from './stages.ts'
import { fieldsOf, variantOf } from './values.ts'

/** The stage of the expression at a path; undefined if there is none. */
export function stageAt(kind: Kind, value: unknown, path: FieldPath): Stage | undefined {
  let schema: Schema | undefined = schemaOfKind(kind)
  let inner = value
  let stage: Stage = kind === 'frontendPolicies' ? 'connection' : 'traffic'
  for (let at = 0; schema !== undefined; ) {
    const shape = shapeOf(schema)
    stage = stageOfPolicy(shape.name, kind, path.slice(0, at)) ?? stage
    if (shape.kind === 'union') {
      schema = shape.variants[variantOf(shape, inner)]?.schema
      continue
    }
    const step = path[at++]
    if (step === undefined) {
      if (shape.kind !== 'text' || shape.hint?.is !== 'expression') return undefined
      return shape.hint.stage ?? stage
    }
    if (shape.kind === 'list') {
      schema = shape.item
      inner = Array.isArray(inner) ? inner[Number(step)] : undefined
      continue
    }
    schema =
      shape.kind === 'map'
        ? shape.value
        : shape.kind === 'object'
          ? shape.members.find(({ key }) => key === step)?.schema
          : undefined
    inner = fieldsOf(inner)[String(step)]
  }
  return undefined
}
