import { yaml } from '@codemirror/lang-yaml'
import { Input, TextInput } from '@mantine/core'
import { useState } from 'react'
import { CodeEditor } from '../editor/code-editor.tsx'
import { nameOfPath } from '../text/places.ts'
import { isSame, readText, textOf } from '../text/with-value.ts'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { inputProps } from './labels.ts'

const YAML = [yaml()]

/** A value without a schema: a word or number in one line, everything else as YAML. */
export function AnythingField(props: ShownProps<'anything'>) {
  const { value } = props
  const isNested = typeof value === 'object' && value !== null
  return isNested ? <Nested {...props} /> : <Plain {...props} />
}

function Plain(props: ShownProps<'anything'>) {
  const { value, onChange } = props
  const { isReadOnly } = useForm()
  const [typed, setTyped] = useState<string>()
  const isTyped = typed !== undefined && isSame(scalarOf(typed), value)
  return (
    <TextInput
      {...inputProps(props)}
      value={isTyped ? typed : value === undefined ? '' : textOf(value).trim()}
      onChange={(event) => {
        const text = event.currentTarget.value
        setTyped(text)
        onChange(scalarOf(text))
      }}
      readOnly={isReadOnly}
      autoComplete="off"
      maw={560}
    />
  )
}

/** What YAML reads from a word; anything longer is text. */
function scalarOf(text: string): unknown {
  const read = readText(text)
  if (!('value' in read) || text.trim() === '') return text
  return typeof read.value === 'object' ? text : read.value
}

function Nested(props: ShownProps<'anything'>) {
  const { value, onChange, path, label, description, isRequired, isBare } = props
  const { isReadOnly } = useForm()
  const [typed, setTyped] = useState<string>()
  const read = typed === undefined ? undefined : readText(typed)
  // A text with errors is kept until it has none.
  const isTyped = read !== undefined && (!('value' in read) || isSame(read.value, value))
  const change = (text: string) => {
    setTyped(text)
    const next = readText(text)
    if ('value' in next) onChange(next.value)
  }
  return (
    <Input.Wrapper
      {...(isBare === true ? {} : { label, description, withAsterisk: isRequired })}
      labelElement="div"
    >
      <CodeEditor
        label={nameOfPath(path)}
        value={isTyped ? (typed ?? '') : textOf(value)}
        {...(isReadOnly ? {} : { onChange: change })}
        extensions={YAML}
      />
    </Input.Wrapper>
  )
}
