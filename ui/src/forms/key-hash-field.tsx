import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { CopyButton } from '../parts/copy-button.tsx'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { inputProps } from './labels.ts'
import { generateKey, hashKey } from './new-key.ts'
import { newKeys } from './new-keys.ts'

/** The hash of a key. The key itself is generated here, shown once, and sent nowhere. */
export function KeyHashField(props: ShownProps<'text'>) {
  const { value, onChange, path, isItem } = props
  const { isReadOnly } = useForm()
  const [text, setText] = useState('')
  const hash = typeof value === 'string' ? value : ''
  const key = newKeys.get(hash)
  const set = (next: string) => {
    newKeys.set(hashKey(next), next)
    onChange(hashKey(next))
  }
  const name = nameOfPath(path)
  return (
    <Stack gap="xs">
      <TextInput
        {...inputProps(props)}
        value={hash}
        onChange={(event) => {
          const next = event.currentTarget.value
          onChange(next === '' && !isItem ? undefined : next)
        }}
        readOnly={isReadOnly}
        autoComplete="off"
        className="monospace"
        maw={700}
      />
      {key === undefined ? null : (
        <Alert color="gray" variant="outline" title="Copy the new key now">
          <Stack gap="xs">
            <Text size="sm">
              Only its hash is stored: the key is not shown again after you leave this page.
            </Text>
            <Group gap="sm">
              <code className="expression" data-new-key>
                {key}
              </code>
              <CopyButton text={key} what={`the key of ${name}`} />
            </Group>
          </Stack>
        </Alert>
      )}
      {isReadOnly ? null : (
        <Group gap="xs" align="end">
          <Button
            size="xs"
            variant="default"
            aria-label={`Generate a key for ${name}`}
            onClick={() => set(generateKey())}
          >
            Generate a key
          </Button>
          <TextInput
            size="xs"
            label="or hash an existing key"
            aria-label={`Or hash an existing key for ${name}`}
            type="password"
            autoComplete="new-password"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <Button
            size="xs"
            variant="default"
            aria-label={`Hash it for ${name}`}
            disabled={text === ''}
            onClick={() => {
              onChange(hashKey(text))
              setText('')
            }}
          >
            Hash it
          </Button>
        </Group>
      )}
    </Stack>
  )
}
