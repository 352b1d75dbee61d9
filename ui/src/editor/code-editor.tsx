import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import {
  bracketMatching,
  defaultHighlightStyle,
  HighlightStyle,
  syntaxHighlighting,
} from '@codemirror/language'
import { lintKeymap } from '@codemirror/lint'
import { searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { styleNonce } from '../csp.ts'

interface CodeEditorProps {
  readonly label: string
  readonly value: string
  readonly onChange?: (value: string) => void
  /** The same array for as long as nothing of it changes. */
  readonly extensions: readonly Extension[]
  readonly hasLineNumbers?: boolean
  readonly minHeight?: string
}

/** Tab leaves it, as it leaves any other field: it is operated with a keyboard alone. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, value, onChange, extensions, hasLineNumbers = false, minHeight = '2.2rem' } = props
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useRef(onChange)
  changed.current = onChange
  const isDark = useComputedColorScheme('light') === 'dark'
  const isReadOnly = onChange === undefined
  const first = useRef(value)
  first.current = value
  useEffect(() => {
    const parent = host.current
    if (parent === null) return
    const made = new EditorView({
      parent,
      doc: first.current,
      extensions: [
        EditorView.cspNonce.of(styleNonce()),
        hasLineNumbers ? lineNumbers() : [],
        history(),
        bracketMatching(),
        closeBrackets(),
        EditorView.lineWrapping,
        syntaxHighlighting(isDark ? DARK : defaultHighlightStyle),
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...lintKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        EditorState.readOnly.of(isReadOnly),
        EditorView.theme(
          {
            '.cm-content': { minHeight, fontFamily: 'var(--mantine-font-family-monospace)' },
            '.cm-content, .cm-gutter': { fontSize: '0.8125rem' },
            '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--quiet)' },
            '.cm-scroller': { maxHeight: '32rem' },
            '.cm-tooltip': {
              backgroundColor: 'var(--mantine-color-body)',
              color: 'var(--mantine-color-text)',
            },
          },
          { dark: isDark },
        ),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed.current?.(update.state.doc.toString())
        }),
        ...extensions,
      ],
    })
    view.current = made
    return () => made.destroy()
  }, [label, extensions, isDark, isReadOnly, hasLineNumbers, minHeight])
  useEffect(() => {
    const now = view.current?.state.doc.toString()
    if (now === undefined || now === value) return
    view.current?.dispatch({ changes: { from: 0, to: now.length, insert: value } })
  }, [value])
  return <div className="editor" ref={host} />
}

const DARK = HighlightStyle.define([
  { tag: tags.keyword, color: '#d0bfff' },
  { tag: [tags.string, tags.special(tags.string)], color: '#8ce99a' },
  { tag: [tags.number, tags.bool, tags.null], color: '#ffc078' },
  { tag: tags.comment, color: '#adb5bd', fontStyle: 'italic' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: '#91a7ff' },
  { tag: [tags.function(tags.variableName), tags.operator], color: '#99e9f2' },
])
