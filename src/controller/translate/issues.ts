import type * as z from 'zod'
import { type IssueNode, wordIssues } from '../../reach/checks/issues.ts'
import type { Field, Message } from '../../reach/checks/place.ts'

/**
 * Converts issues that zod found in an object, or in one of its values, to messages as in files.
 */
export function wordsFor(
  issues: readonly z.core.$ZodIssue[],
  value: unknown,
  schema: z.core.$ZodType,
): readonly (Message & { readonly path: Field })[] {
  const node = new ValueNode(value)
  // Schemas of policies have more keys than their resource definitions.
  const found = wordIssues(issues, { node, schema, hasOtherKeys: true })
  return found.map(({ node: at, message }) => ({ ...message, path: at.path }))
}

/** A value in an object, with its path. */
class ValueNode implements IssueNode {
  readonly value: unknown
  readonly isThere: boolean
  readonly step: PropertyKey
  readonly isExpanded = false
  readonly #outer: ValueNode | undefined

  constructor(value: unknown, isThere = true, step: PropertyKey = '', outer?: ValueNode) {
    this.value = value
    this.isThere = isThere
    this.step = step
    this.#outer = outer
  }

  get outer(): ValueNode {
    return this.#outer ?? this
  }

  get path(): Field {
    return this.#outer === undefined ? [] : [...this.#outer.path, this.step]
  }

  inner(...steps: Field): ValueNode {
    return steps.reduce<ValueNode>((node, step) => node.#next(step), this)
  }

  #next(step: PropertyKey): ValueNode {
    const { value } = this
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, step)
    const own = isThere ? (value as Readonly<Record<PropertyKey, unknown>>)[step] : undefined
    return new ValueNode(own, isThere, step, this)
  }
}
