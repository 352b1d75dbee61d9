import { autocompletion, type CompletionContext } from '@codemirror/autocomplete'
import { yaml } from '@codemirror/lang-yaml'
import { type Extension, RangeSetBuilder } from '@codemirror/state'
import { Decoration, type DecorationSet, type EditorView, ViewPlugin } from '@codemirror/view'
import { completeKeys } from '../config/schema-support.ts'
import { completeCel } from '../editor/cel-support.ts'
import { stageAt } from '../forms/expression-at.ts'
import { fileSchema, type Kind, schemaOfKind } from '../forms/schema.ts'
import { secretSpans } from './check-resource.ts'
import { TextPlaces } from './places.ts'
import { readText } from './with-value.ts'

/** Keys of the schema, expressions of their stage, and secrets that are not readable. */
export function resourceLanguage(kind: Kind, id: string): readonly Extension[] {
  const schema = { ...schemaOfKind(kind), $defs: fileSchema().$defs ?? {} }
  const load = () =>
    Promise.resolve(
      schema as Parameters<typeof completeKeys>[1] extends () => Promise<infer S> ? S : never,
    )
  return [
    yaml(),
    autocompletion({
      override: [
        (context) => completeKeys(context, load),
        (context) => completeExpression(context, kind),
      ],
      icons: false,
    }),
    maskedSecrets(kind, id),
  ]
}

function completeExpression(context: CompletionContext, kind: Kind) {
  const text = context.state.doc.toString()
  const read = readText(text)
  if (!('value' in read)) return null
  const stage = stageAt(kind, read.value, new TextPlaces(text).pathAt(context.pos))
  return stage === undefined ? null : completeCel(context, stage)
}

const MASK = Decoration.mark({ class: 'cm-secret' })

function maskedSecrets(kind: Kind, id: string): Extension {
  const decorate = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>()
    const spans = secretSpans(kind, id, view.state.doc.toString())
    for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
      if (from < to) builder.add(from, to, MASK)
    }
    return builder.finish()
  }
  return ViewPlugin.define(
    (view) => ({
      decorations: decorate(view),
      update(update) {
        if (update.docChanged) this.decorations = decorate(update.view)
      },
    }),
    { decorations: (plugin) => plugin.decorations },
  )
}
