import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { inputProps } from './labels.ts'

export function ChoiceField(props: ShownProps<'choice'>) {
  const { value, onChange, shape, isItem, isRequired } = props
  const { isReadOnly } = useForm()
  const { options } = shape
  const at = options.findIndex((one) => one.value === value || one.others.includes(value))
  const isUnknown = value !== undefined && at === -1
  const none = isRequired ? 'Choose one' : 'Not set'
  return (
    <NativeSelect
      {...inputProps(props)}
      value={isUnknown ? 'unknown' : at === -1 ? '' : String(at)}
      disabled={isReadOnly}
      onChange={(event) => {
        const chosen = event.currentTarget.value
        onChange(chosen === '' ? undefined : options[Number(chosen)]?.value)
      }}
      maw={320}
    >
      {isItem ? null : <option value="">{none}</option>}
      {isUnknown ? <option value="unknown">{String(value)}</option> : null}
      {options.map((option, index) => (
        <option key={String(option.value)} value={String(index)}>
          {String(option.value)}
        </option>
      ))}
    </NativeSelect>
  )
}

const NUMBER = /^-?\d+(\.\d+)?$/

/** What is not a number stays as it was typed, and the checker says so. */
export function NumberField(props: ShownProps<'number'>) {
  const { value, onChange, isItem } = props
  const { isReadOnly } = useForm()
  return (
    <TextInput
      {...inputProps(props)}
      inputMode="numeric"
      value={value === undefined ? '' : String(value)}
      onChange={(event) => {
        const text = event.currentTarget.value.trim()
        const isEmpty = text === '' && !isItem
        onChange(isEmpty ? undefined : NUMBER.test(text) ? Number(text) : text)
      }}
      readOnly={isReadOnly}
      autoComplete="off"
      maw={240}
    />
  )
}

export function SwitchField({ value, onChange, path, label, description }: ShownProps<'boolean'>) {
  const { isReadOnly } = useForm()
  return (
    <Checkbox
      label={label}
      description={description}
      aria-label={inputProps({ path, label, description } as never)['aria-label']}
      checked={value === true}
      onChange={(event) => onChange(event.currentTarget.checked)}
      disabled={isReadOnly}
    />
  )
}
