import type { Stage } from '../../../src/cel/index.ts'
import type { FieldPath } from '../text/places.ts'
import type { Schema } from './schema.ts'
import type { Shape } from './shape.ts'

/** Where a value is, and how to change it. */
export interface FieldProps {
  readonly schema: Schema
  readonly value: unknown
  /** Undefined removes the value. */
  readonly onChange: (value: unknown) => void
  readonly path: FieldPath
  /** The nearest definition, and the steps from there: `apiKey:keys[]`. Hints are kept by it. */
  readonly place: string
  /** The stage of its expressions. */
  readonly stage: Stage
  readonly label: string
  readonly description: string
  readonly isRequired: boolean
  /** An item of a list has a value, even if it is empty. */
  readonly isItem: boolean
  /** Its label and description are shown around it. */
  readonly isBare?: boolean
}

/** The same with the shape of its schema. */
export type ShownProps<K extends Shape['kind']> = FieldProps & {
  readonly shape: Shape & { readonly kind: K }
}
