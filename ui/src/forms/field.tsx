import { Text } from '@mantine/core'
import { nameOfPath } from '../text/places.ts'
import { AnythingField } from './anything-field.tsx'
import { ChoiceField, NumberField, SwitchField } from './choice-fields.tsx'
import { ExpressionField } from './expression-field.tsx'
import type { FieldProps } from './field-props.ts'
import { useForm } from './form-context.ts'
import { KeyHashField } from './key-hash-field.tsx'
import { ListField } from './list-field.tsx'
import { MapField } from './map-field.tsx'
import { ObjectField } from './object-field.tsx'
import { SecretField } from './secret-field.tsx'
import { type Shape, shapeOf } from './shape.ts'
import { stageOfPolicy } from './stages.ts'
import { TextField } from './text-field.tsx'
import { UnionField } from './union-field.tsx'

/** Renders any schema. */
export function Field(props: FieldProps) {
  const { kind, marks } = useForm()
  const shape = shapeOf(props.schema)
  const { name } = shape
  const inner: FieldProps = {
    ...props,
    place: name === undefined ? props.place : `${name}:`,
    stage: stageOfPolicy(name, kind, props.path) ?? props.stage,
    description:
      props.description === '' && props.isBare !== true ? shape.description : props.description,
  }
  const field = nameOfPath(props.path)
  const messages = marks.get(field) ?? []
  return (
    <div className="field" data-field={field}>
      <Shown {...inner} shape={shape} />
      {messages.map(({ code, message, hint, severity }) => (
        <Text
          key={`${code} ${message}`}
          size="sm"
          c={severity === 'error' ? 'var(--bad)' : 'var(--warn)'}
        >
          {message}
          {hint === undefined ? '' : `: ${hint}`}
        </Text>
      ))}
    </div>
  )
}

/** Fields that are more than their schema, by the title of the schema. */
const SPECIAL: Readonly<Record<string, typeof KeyHashField>> = { 'hash of a key': KeyHashField }

function Shown(props: FieldProps & { readonly shape: Shape }) {
  const { shape } = props
  switch (shape.kind) {
    case 'object':
      return <ObjectField {...props} shape={shape} />
    case 'map':
      return <MapField {...props} shape={shape} />
    case 'list':
      return <ListField {...props} shape={shape} />
    case 'union':
      return <UnionField {...props} shape={shape} />
    case 'choice':
      return <ChoiceField {...props} shape={shape} />
    case 'number':
      return <NumberField {...props} shape={shape} />
    case 'boolean':
      return <SwitchField {...props} shape={shape} />
    case 'anything':
      return <AnythingField {...props} shape={shape} />
    case 'text': {
      const { hint } = shape
      const Special = SPECIAL[shape.title]
      if (Special !== undefined) return <Special {...props} shape={shape} />
      if (hint?.is === 'expression') return <ExpressionField {...props} shape={shape} />
      if (hint?.is === 'secret' || hint?.is === 'credential') {
        return <SecretField {...props} shape={shape} />
      }
      return <TextField {...props} shape={shape} />
    }
  }
}
