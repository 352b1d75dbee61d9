import { nameOfPath } from '../text/places.ts'
import type { FieldProps } from './field-props.ts'

/** The properties that every input shares; its accessible name is the whole path. */
export function inputProps({ path, label, description, isRequired, isBare }: FieldProps) {
  return {
    ...(isBare === true ? {} : { label, description, withAsterisk: isRequired }),
    'aria-label': nameOfPath(path),
    ...(isRequired ? { 'aria-required': true } : {}),
  }
}
