import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Paged } from '../parts/paged.tsx'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { Fieldset } from './fieldset.tsx'
import { focusField, useForm } from './form-context.ts'
import { fieldsOf, startOfItem, withMember } from './values.ts'

/** Values by keys that the user chooses. */
export function MapField(props: ShownProps<'map'>) {
  const { shape, value, onChange, path, place } = props
  const { isReadOnly, Field } = useForm()
  const [key, setKey] = useState('')
  const entries = Object.entries(fieldsOf(value))
  const canAdd = key.trim() !== '' && !entries.some(([known]) => known === key.trim())
  const add = () => {
    if (!canAdd) return
    onChange(withMember(value, key.trim(), startOfItem(shape.value)))
    focusField([...path, key.trim()])
    setKey('')
  }
  return (
    <Fieldset {...props}>
      <Stack gap="xs">
        <Paged label="entries" items={entries} size={20}>
          {([name, member]) => (
            <Group key={name} align="start" gap="xs" wrap="nowrap">
              <div className="grow">
                <Field
                  schema={shape.value}
                  value={member}
                  onChange={(next) => onChange(withMember(value, name, next))}
                  path={[...path, name]}
                  place={`${place}.*`}
                  stage={props.stage}
                  label={name}
                  description=""
                  isRequired={false}
                  isItem
                />
              </div>
              {isReadOnly ? null : (
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`Remove ${nameOfPath([...path, name])}`}
                  onClick={() => onChange(withMember(value, name, undefined))}
                >
                  Remove
                </Button>
              )}
            </Group>
          )}
        </Paged>
        {entries.length === 0 ? (
          <Text size="sm" c="dimmed">
            Empty
          </Text>
        ) : null}
        {isReadOnly ? null : (
          <Group gap="xs" align="end">
            <TextInput
              label={`New ${shape.keyTitle}`}
              aria-label={`New ${shape.keyTitle} of ${nameOfPath(path)}`}
              value={key}
              onChange={(event) => setKey(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === 'Enter') add()
              }}
              size="xs"
            />
            <Button
              size="xs"
              variant="default"
              aria-label={`Add to ${nameOfPath(path)}`}
              disabled={!canAdd}
              onClick={add}
            >
              Add
            </Button>
          </Group>
        )}
      </Stack>
    </Fieldset>
  )
}
