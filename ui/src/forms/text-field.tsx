import { Textarea, TextInput } from '@mantine/core'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { inputProps } from './labels.ts'
import { listOf } from './name-lists.tsx'

export function TextField(props: ShownProps<'text'>) {
  const { value, onChange, isItem, shape, path } = props
  const { isReadOnly } = useForm()
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)
  const change = (next: string) => onChange(next === '' && !isItem ? undefined : next)
  const list = listOf(shape, path)
  if (text.includes('\n')) {
    return (
      <Textarea
        {...inputProps(props)}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
        readOnly={isReadOnly}
        autosize
        maxRows={12}
        spellCheck={false}
      />
    )
  }
  return (
    <TextInput
      {...inputProps(props)}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
      readOnly={isReadOnly}
      autoComplete="off"
      spellCheck={false}
      {...(list === undefined ? {} : { list })}
      maw={560}
    />
  )
}
