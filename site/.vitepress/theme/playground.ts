import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import type { Extension } from '@codemirror/state'
import { EditorView, keymap } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { defineComponent, h, onBeforeUnmount, onMounted, type Ref, ref } from 'vue'
import { celSupport } from '../../../ui/src/editor/cel-support.ts'
import { decide, SAMPLE_RULES } from '../../playground/decide.ts'
import { evaluate } from '../../playground/evaluate.ts'
import { SAMPLE_REQUEST } from '../../playground/request.ts'

/** Uses variables that ./playground.css sets for both color schemes. */
const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.propertyName], color: 'var(--play-word)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--play-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--play-number)' },
  { tag: tags.comment, color: 'var(--play-comment)', fontStyle: 'italic' },
])

/** Text editor; Tab moves focus out of it, as in any other field. */
function editor(label: string, text: Ref<string>, extensions: readonly Extension[]) {
  return defineComponent(() => {
    const host = ref<HTMLElement>()
    let view: EditorView | undefined
    onMounted(() => {
      if (host.value === undefined) return
      view = new EditorView({
        parent: host.value,
        doc: text.value,
        extensions: [
          history(),
          EditorView.lineWrapping,
          syntaxHighlighting(COLOURS),
          keymap.of([...historyKeymap, ...defaultKeymap]),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) text.value = update.state.doc.toString()
          }),
          ...extensions,
        ],
      })
    })
    onBeforeUnmount(() => view?.destroy())
    return () => h('div', [h('label', label), h('div', { class: 'editor', ref: host })])
  })
}

/** Lines below a heading; empty if there are no lines. */
function list(title: string, lines: readonly string[]) {
  if (lines.length === 0) return []
  return [h('strong', title), h('pre', lines.join('\n'))]
}

export const CelPlayground = defineComponent(() => {
  const text = ref("request.method == 'GET' && jwt.team == request.headers['x-team']")
  const request = ref(SAMPLE_REQUEST)
  const Expression = editor('Expression', text, [...celSupport('traffic')])
  const Request = editor('Request', request, [yaml()])
  return () => {
    const { isGood, result, details } = evaluate(text.value, request.value)
    return h('div', { class: 'playground', id: 'cel-playground' }, [
      h(Expression),
      h(Request),
      h('output', { class: isGood ? 'good' : 'bad', 'aria-live': 'polite' }, result),
      ...list('Parts', details),
    ])
  }
})

export const PolicySandbox = defineComponent(() => {
  const rules = ref(SAMPLE_RULES)
  const request = ref(SAMPLE_REQUEST)
  const Rules = editor('Rules of `authorization`', rules, [yaml()])
  const Request = editor('Request', request, [yaml()])
  return () => {
    const { isGood, result, details, findings } = decide(rules.value, request.value)
    return h('div', { class: 'playground', id: 'policy-sandbox' }, [
      h(Rules),
      h(Request),
      h('output', { class: isGood ? 'good' : 'bad', 'aria-live': 'polite' }, result),
      ...list('Rules, in the order of evaluation', details),
      ...list('Findings of lint', findings),
    ])
  }
})
