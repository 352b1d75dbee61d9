import { createContext, type ReactNode, useContext } from 'react'
import type { Mark } from '../text/check-resource.ts'
import { type FieldPath, nameOfPath } from '../text/places.ts'
import type { FieldProps } from './field-props.ts'
import type { Kind } from './schema.ts'

export interface FormSurroundings {
  readonly kind: Kind
  /** What the checker says, by the name of the field. */
  readonly marks: ReadonlyMap<string, readonly Mark[]>
  readonly isReadOnly: boolean
  /** Renders any schema; here, since fields contain fields. */
  readonly Field: (props: FieldProps) => ReactNode
}

export const FormContext = createContext<FormSurroundings>({
  kind: 'routes',
  marks: new Map(),
  isReadOnly: false,
  Field: () => null,
})

export function useForm(): FormSurroundings {
  return useContext(FormContext)
}

export function marksByField(marks: readonly Mark[]): FormSurroundings['marks'] {
  return Map.groupBy(marks, ({ path }) => nameOfPath(path))
}

/** Focuses the first input of a field that the next rendering shows. */
export function focusField(path: FieldPath): void {
  const selector = `[data-field="${CSS.escape(nameOfPath(path))}"]`
  const inputs = ['input', 'select', 'textarea', '.cm-content', 'button']
  setTimeout(() => {
    const field = document.querySelector(selector)
    const input = inputs
      .map((one) => field?.querySelector<HTMLElement>(one))
      .find((one) => one != null)
    const first = field?.querySelector<HTMLElement>(inputs.join(', '))
    const target = input ?? first
    target?.focus()
    target?.scrollIntoView({ block: 'nearest' })
  }, 50)
}
