import { Button, Group, Text, TextInput } from '@mantine/core'
import { isReference } from '../text/check-resource.ts'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { inputProps } from './labels.ts'

/** A secret is typed, never shown; one that is stored is kept unless it is replaced. */
export function SecretField(props: ShownProps<'text'>) {
  const { value, onChange, isItem, path, label } = props
  const { isReadOnly } = useForm()
  const text = typeof value === 'string' ? value : ''
  if (isReference(text)) {
    return (
      <Group gap="sm">
        <Text size="sm" fw={500}>
          {props.isBare === true ? '' : label}
        </Text>
        <Text size="sm" c="dimmed">
          Stored; not shown.
        </Text>
        <Button
          size="xs"
          variant="default"
          aria-label={`Replace ${nameOfPath(path)}`}
          disabled={isReadOnly}
          onClick={() => onChange('')}
        >
          Replace
        </Button>
      </Group>
    )
  }
  return (
    <TextInput
      {...inputProps(props)}
      type="password"
      autoComplete="new-password"
      value={text}
      onChange={(event) => {
        const next = event.currentTarget.value
        onChange(next === '' && !isItem ? undefined : next)
      }}
      readOnly={isReadOnly}
      maw={560}
    />
  )
}
