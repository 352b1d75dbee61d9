import { NativeSelect, Select, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { hintsAt } from '../kinds/hints.ts'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { Fieldset } from './fieldset.tsx'
import { focusField, useForm } from './form-context.ts'
import { RemovableField } from './removable-field.tsx'
import type { Choices, Member } from './shape.ts'
import { fieldsOf, startOf, withMember } from './values.ts'

/** Shows the members that are set, required or usual; a menu adds the others. */
export function ObjectField(props: ShownProps<'object'>) {
  const { shape, value, onChange, path, place, stage } = props
  const { isReadOnly, Field } = useForm()
  const [revealed, setRevealed] = useState<ReadonlySet<string>>(new Set())
  const fields = fieldsOf(value)
  const { first = [] } = hintsAt(place)
  const { members, choices } = shape
  const grouped = new Set(choices.flat())
  const spelledOtherwise = new Set(
    members.flatMap(({ key, aliasOf }) =>
      aliasOf !== undefined && Object.hasOwn(fields, key) ? [aliasOf] : [],
    ),
  )
  const isShown = ({ key, isRequired }: Member) => {
    if (grouped.has(key)) return false
    if (Object.hasOwn(fields, key)) return true
    if (spelledOtherwise.has(key)) return false
    return isRequired || first.includes(key) || revealed.has(key)
  }
  const rankOf = (key: string) => (first.includes(key) ? first.indexOf(key) : first.length)
  const ordered = members.toSorted((a, b) => rankOf(a.key) - rankOf(b.key))
  const others = ordered.filter(
    (member) =>
      !grouped.has(member.key) &&
      !isShown(member) &&
      member.aliasOf === undefined &&
      !spelledOtherwise.has(member.key),
  )
  const unknown = Object.keys(fields).filter((key) => !members.some((one) => one.key === key))
  const set = (key: string, member: unknown) => onChange(withMember(value, key, member))
  const reveal = (key: string) => {
    const member = members.find((one) => one.key === key)
    if (member === undefined) return
    setRevealed(new Set([...revealed, key]))
    const start = startOf(member.schema)
    if (start !== undefined) set(key, start)
    focusField([...path, key])
  }
  const fieldOf = (member: Member, isRequired = member.isRequired) => (
    <Field
      schema={member.schema}
      value={fields[member.key]}
      onChange={(next) => set(member.key, next)}
      path={[...path, member.key]}
      place={`${place}${place.endsWith(':') ? '' : '.'}${member.key}`}
      stage={stage}
      label={member.key}
      description={member.description}
      isRequired={isRequired}
      isItem={false}
    />
  )
  return (
    <Fieldset {...props}>
      <Stack gap="sm">
        {entriesOf(ordered.filter(isShown), choices, rankOf).map((entry) =>
          'keys' in entry ? (
            <ChoiceOfKeys
              key={entry.keys.join()}
              {...props}
              keys={entry.keys}
              usual={first.find((key) => entry.keys.includes(key)) ?? entry.keys[0] ?? ''}
              fieldOf={(member) => fieldOf(member, true)}
            />
          ) : (
            <RemovableField
              key={entry.key}
              name={nameOfPath([...path, entry.key])}
              isRemovable={!entry.isRequired && !isReadOnly && isSet(fields, revealed, entry.key)}
              remove={() => {
                setRevealed(new Set([...revealed].filter((key) => key !== entry.key)))
                set(entry.key, undefined)
              }}
            >
              {fieldOf(entry)}
            </RemovableField>
          ),
        )}
        {unknown.map((key) => (
          <RemovableField
            key={key}
            name={nameOfPath([...path, key])}
            isRemovable={!isReadOnly}
            remove={() => set(key, undefined)}
          >
            <Text size="sm" data-field={nameOfPath([...path, key])}>
              {key}: edit it in the text
            </Text>
          </RemovableField>
        ))}
        {others.length === 0 || isReadOnly ? null : (
          <Select
            aria-label={path.length === 0 ? 'Add a field' : `Add a field to ${nameOfPath(path)}`}
            placeholder="Add a field"
            data={others.map(({ key }) => key)}
            value={null}
            searchable
            selectFirstOptionOnChange
            onChange={(key) => {
              if (key !== null) reveal(key)
            }}
            renderOption={({ option }) => (
              <Described member={others.find((one) => one.key === option.value)} />
            )}
            maxDropdownHeight={360}
            comboboxProps={{ width: 420, position: 'bottom-start' }}
            size="xs"
            maw={240}
          />
        )}
      </Stack>
    </Fieldset>
  )
}

interface KeyChoice {
  readonly keys: readonly string[]
}

/** Members and choices in the order of hints; choices without a hint come last. */
function entriesOf(
  members: readonly Member[],
  choices: Choices,
  rankOf: (key: string) => number,
): readonly (Member | KeyChoice)[] {
  const entries: (Member | KeyChoice)[] = [...members, ...choices.map((keys) => ({ keys }))]
  const rank = (entry: Member | KeyChoice) =>
    'keys' in entry ? Math.min(...entry.keys.map(rankOf)) : rankOf(entry.key)
  return entries.toSorted((a, b) => rank(a) - rank(b))
}

function isSet(fields: object, revealed: ReadonlySet<string>, key: string): boolean {
  return Object.hasOwn(fields, key) || revealed.has(key)
}

function Described({ member }: { readonly member: Member | undefined }) {
  return (
    <div>
      <Text size="sm">{member?.key}</Text>
      <Text size="xs" c="dimmed" lineClamp={2}>
        {member?.description}
      </Text>
    </div>
  )
}

interface ChoiceOfKeysProps extends ShownProps<'object'> {
  readonly keys: readonly string[]
  /** The key that is offered first. */
  readonly usual: string
  readonly fieldOf: (member: Member) => React.ReactNode
}

/** Keys of which exactly one is set. */
function ChoiceOfKeys({ shape, value, onChange, path, keys, usual, fieldOf }: ChoiceOfKeysProps) {
  const { isReadOnly } = useForm()
  const [chosen, setChosen] = useState<string>()
  const fields = fieldsOf(value)
  const present = keys.filter((key) => Object.hasOwn(fields, key))
  const shown = present.length > 0 ? present : [chosen ?? usual]
  const choose = (key: string) => {
    const member = shape.members.find((one) => one.key === key)
    if (member === undefined) return
    setChosen(key)
    const others = keys.reduce((left, other) => withMember(left, other, undefined), fields)
    onChange(withMember(others, key, startOf(member.schema)))
    focusField([...path, key])
  }
  const members = shape.members.filter(({ key }) => shown.includes(key))
  return (
    <Stack gap="xs">
      <NativeSelect
        label="One of"
        aria-label={`One of ${keys.join(', ')}${path.length === 0 ? '' : ` in ${nameOfPath(path)}`}`}
        value={shown[0] ?? ''}
        disabled={isReadOnly}
        onChange={(event) => choose(event.currentTarget.value)}
        maw={240}
        size="xs"
      >
        {keys.map((key) => (
          <option key={key} value={key}>
            {key}
          </option>
        ))}
      </NativeSelect>
      {members.map((member) => (
        <div key={member.key}>{fieldOf(member)}</div>
      ))}
    </Stack>
  )
}
