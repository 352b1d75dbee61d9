import { Input } from '@mantine/core'
import { celSupport } from '../editor/cel-support.ts'
import { CodeEditor } from '../editor/code-editor.tsx'
import { nameOfPath } from '../text/places.ts'
import type { ShownProps } from './field-props.ts'
import { useForm } from './form-context.ts'

export function ExpressionField(props: ShownProps<'text'>) {
  const { value, onChange, isItem, isRequired, path, label, description, shape, isBare } = props
  const { isReadOnly } = useForm()
  const hint = shape.hint?.is === 'expression' ? shape.hint : undefined
  const stage = hint?.stage ?? props.stage
  return (
    <Input.Wrapper
      {...(isBare === true ? {} : { label, description, withAsterisk: isRequired })}
      labelElement="div"
    >
      <CodeEditor
        label={nameOfPath(path)}
        value={typeof value === 'string' ? value : ''}
        {...(isReadOnly
          ? {}
          : { onChange: (next: string) => onChange(next === '' && !isItem ? undefined : next) })}
        extensions={celSupport(stage, hint?.result ?? 'rule')}
      />
    </Input.Wrapper>
  )
}
