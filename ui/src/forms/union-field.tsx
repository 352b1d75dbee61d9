import { Group, Input, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { shapeOf } from './shape.ts'
import { startOf, startOfItem, variantOf } from './values.ts'

/** One of several forms of a value. */
export function UnionField(props: ShownProps<'union'>) {
  const { shape, value, onChange, path, label, description, isItem, isRequired } = props
  const { isReadOnly, Field } = useForm()
  const { variants } = shape
  const [chosen, setChosen] = useState<number>()
  // A value decides by itself; without one, the choice does.
  const at = value === undefined ? (chosen ?? 0) : variantOf(shape, value)
  const variant = variants[at]
  const choose = (index: number) => {
    const schema = variants[index]?.schema
    if (schema === undefined) return
    setChosen(index)
    onChange(isItem ? startOfItem(schema) : startOf(schema))
  }
  const isPlain = variant !== undefined && !NESTED.includes(shapeOf(variant.schema).kind)
  return (
    <div>
      {props.isBare === true ? null : (
        <Input.Label component="div" required={isRequired}>
          {label}
        </Input.Label>
      )}
      {description === '' ? null : <Input.Description mb={4}>{description}</Input.Description>}
      <Group gap="xs" align="start" wrap="wrap">
        <NativeSelect
          aria-label={`Form of ${nameOfPath(path)}`}
          value={String(at)}
          disabled={isReadOnly}
          onChange={(event) => choose(Number(event.currentTarget.value))}
          maw={180}
        >
          {variants.map(({ label: own }, index) => (
            <option key={own} value={String(index)}>
              {own}
            </option>
          ))}
        </NativeSelect>
        {variant === undefined ? null : (
          <div className={isPlain ? 'grow' : 'whole'}>
            <Field
              key={at}
              {...props}
              schema={variant.schema}
              label={label}
              description=""
              isBare
            />
          </div>
        )}
      </Group>
    </div>
  )
}

const NESTED: readonly string[] = ['object', 'map', 'list']
