import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { nameOfPath } from '../text/places.ts'
import type { FieldProps } from './field-props.ts'

/** Fields that belong together, with a name; those of the whole resource have none. */
export function Fieldset(props: FieldProps & { readonly children: ReactNode }) {
  const { path, label, description, isRequired, isItem, isBare, children } = props
  if (path.length === 0) return children
  return (
    <fieldset className="fieldset" aria-label={nameOfPath(path)}>
      {isItem || isBare === true ? null : (
        <legend>
          {label}
          {isRequired ? <span className="required"> *</span> : null}
        </legend>
      )}
      {description === '' ? null : (
        <Text size="xs" c="dimmed" mb={4}>
          {description}
        </Text>
      )}
      {children}
    </fieldset>
  )
}
