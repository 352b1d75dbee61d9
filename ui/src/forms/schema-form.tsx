import { useMemo } from 'react'
import type { Mark } from '../text/check-resource.ts'
import { Field } from './field.tsx'
import { FormContext, marksByField } from './form-context.ts'
import { NameLists } from './name-lists.tsx'
import { type Kind, schemaOfKind } from './schema.ts'

interface SchemaFormProps {
  readonly kind: Kind
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly marks: readonly Mark[]
  readonly isReadOnly: boolean
}

/** The form of a resource, made from the schema with which the gateway reads the file. */
export function SchemaForm({ kind, value, onChange, marks, isReadOnly }: SchemaFormProps) {
  const surroundings = useMemo(
    () => ({ kind, marks: marksByField(marks), isReadOnly, Field }),
    [kind, marks, isReadOnly],
  )
  return (
    <FormContext value={surroundings}>
      <NameLists />
      <Field
        schema={schemaOfKind(kind)}
        value={value}
        onChange={onChange}
        path={[]}
        place={`${kind}:`}
        stage={kind === 'frontendPolicies' ? 'connection' : 'traffic'}
        label={kind}
        description=""
        isRequired
        isItem
      />
    </FormContext>
  )
}
