import { Button, Group, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Paged } from '../parts/paged.tsx'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { Fieldset } from './fieldset.tsx'
import { focusField, useForm } from './form-context.ts'
import { shapeOf } from './shape.ts'
import { fieldsOf, startOfItem } from './values.ts'

/** Lists with more items than this show a line for each. */
const OPEN = 2

export function ListField(props: ShownProps<'list'>) {
  const { shape, value, onChange, path, label } = props
  const { isReadOnly, Field } = useForm()
  const items = Array.isArray(value) ? (value as readonly unknown[]) : []
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set())
  const open = (index: number, isOpen: boolean) => {
    const next = new Set(opened)
    if (isOpen) next.add(index)
    else next.delete(index)
    setOpened(next)
  }
  const add = () => {
    open(items.length, true)
    onChange([...items, startOfItem(shape.item)])
    focusField([...path, items.length])
  }
  const move = (from: number, to: number) => {
    setOpened(new Set([to]))
    onChange(moved(items, from, to))
    focusField([...path, to])
  }
  const remove = (index: number) => {
    setOpened(new Set())
    onChange(items.filter((_, at) => at !== index))
  }
  const isNested = ['object', 'map', 'list', 'union'].includes(shapeOf(shape.item).kind)
  return (
    <Fieldset {...props}>
      <Stack gap="xs">
        <Paged label="items" items={items} size={20}>
          {(item, index) => {
            const name = nameOfPath([...path, index])
            const isOpen = !isNested || items.length <= OPEN || opened.has(index)
            return (
              <div key={index} className={isNested ? 'item' : undefined}>
                <Group gap="xs" align="start" wrap={isNested ? 'wrap' : 'nowrap'}>
                  {isNested ? (
                    <Button
                      size="compact-sm"
                      variant="subtle"
                      className="grow item-title"
                      justify="start"
                      aria-label={`${titleOfItem(label, index, item)} (${name})`}
                      aria-expanded={isOpen}
                      onClick={() => open(index, !opened.has(index))}
                    >
                      {titleOfItem(label, index, item)}
                    </Button>
                  ) : (
                    <div className="grow">{fieldOf(item, index)}</div>
                  )}
                  {isReadOnly ? null : (
                    <ItemButtons
                      name={name}
                      index={index}
                      count={items.length}
                      move={move}
                      remove={remove}
                    />
                  )}
                </Group>
                {isNested && isOpen ? fieldOf(item, index) : null}
              </div>
            )
          }}
        </Paged>
        {items.length === 0 ? (
          <Text size="sm" c="dimmed">
            None
          </Text>
        ) : null}
        {isReadOnly || items.length >= shape.max ? null : (
          <Button
            size="xs"
            variant="default"
            w="fit-content"
            aria-label={`Add to ${label}${path.length < 2 ? '' : ` (${nameOfPath(path)})`}`}
            onClick={add}
          >
            Add to {label}
          </Button>
        )}
      </Stack>
    </Fieldset>
  )

  function fieldOf(item: unknown, index: number) {
    return (
      <Field
        schema={shape.item}
        value={item}
        onChange={(next) => onChange(items.map((one, at) => (at === index ? next : one)))}
        path={[...path, index]}
        place={`${props.place}[]`}
        stage={props.stage}
        label={`${label} ${index + 1}`}
        description=""
        isRequired={false}
        isItem
        isBare={isNested}
      />
    )
  }
}

interface ItemButtonsProps {
  readonly name: string
  readonly index: number
  readonly count: number
  readonly move: (from: number, to: number) => void
  readonly remove: (index: number) => void
}

function ItemButtons({ name, index, count, move, remove }: ItemButtonsProps) {
  return (
    <Button.Group>
      {count < 2 ? null : (
        <>
          <Button
            size="xs"
            variant="default"
            aria-label={`Move ${name} up`}
            disabled={index === 0}
            onClick={() => move(index, index - 1)}
          >
            ↑
          </Button>
          <Button
            size="xs"
            variant="default"
            aria-label={`Move ${name} down`}
            disabled={index === count - 1}
            onClick={() => move(index, index + 1)}
          >
            ↓
          </Button>
        </>
      )}
      <Button
        size="xs"
        variant="default"
        aria-label={`Remove ${name}`}
        onClick={() => remove(index)}
      >
        Remove
      </Button>
    </Button.Group>
  )
}

function moved<T>(items: readonly T[], from: number, to: number): readonly T[] {
  const others = items.filter((_, at) => at !== from)
  return [...others.slice(0, to), ...items.slice(from, from + 1), ...others.slice(to)]
}

function titleOfItem(label: string, index: number, item: unknown): string {
  const title = titleOf(item)
  return `${label} ${index + 1}${title === '' ? '' : `: ${title}`}`
}

/** The name of an item, or its first word. */
function titleOf(item: unknown): string {
  if (typeof item === 'string') return item
  const fields = fieldsOf(item)
  const { name } = fields
  if (typeof name === 'string') return name
  const [first] = Object.entries(fields)
  if (first === undefined) return ''
  const [key, value] = first
  return typeof value === 'object' ? key : `${key}: ${String(value).slice(0, 60)}`
}
