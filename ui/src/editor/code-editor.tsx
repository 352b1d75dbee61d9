import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import {
  bracketMatching,
  defaultHighlightStyle,
  HighlightStyle,
  syntaxHighlighting,
} from '@codemirror/language'
import { type Diagnostic, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { searchKeymap } from '@codemirror/search'
import { Annotation, Compartment, EditorState, type Extension } from '@codemirror/state'
import { EditorView, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useMemo, useRef } from 'react'
import { styleNonce } from '../csp.ts'
import { Echoes } from './echoes.ts'

interface CodeEditorProps {
  readonly label: string
  readonly value: string
  readonly onChange?: (value: string) => void
  /** Must be the same array until an extension changes. */
  readonly extensions: readonly Extension[]
  readonly hasLineNumbers?: boolean
  readonly minHeight?: string
  /** Messages of a checker outside; without them, extensions may have their own. */
  readonly diagnostics?: readonly Diagnostic[] | undefined
}

/** Tab moves focus out of the editor, as in any other field, for keyboard users. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, value, onChange, extensions, hasLineNumbers = false, minHeight = '2.2rem' } = props
  const { diagnostics } = props
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useRef(onChange)
  changed.current = onChange
  const isDark = useComputedColorScheme('light') === 'dark'
  const isReadOnly = onChange === undefined
  const first = useRef(value)
  first.current = value
  const look = useMemo(() => lookOf(isDark, isReadOnly, minHeight), [isDark, isReadOnly, minHeight])
  const firstLook = useRef(look)
  firstLook.current = look
  const echoes = useRef(new Echoes())
  useEffect(() => {
    const parent = host.current
    if (parent === null) return
    echoes.current.clear()
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
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...lintKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
        LOOK.of(firstLook.current),
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.some((one) => one.annotation(FROM_PAGE) === true)
          if (!update.docChanged || isOwn) return
          const text = update.state.doc.toString()
          echoes.current.expect(text)
          changed.current?.(text)
        }),
        ...extensions,
      ],
    })
    view.current = made
    return () => made.destroy()
  }, [label, extensions, hasLineNumbers])
  // Reuses the editor: a new one would lose the cursor and the undo history.
  useEffect(() => view.current?.dispatch({ effects: LOOK.reconfigure(look) }), [look])
  useEffect(() => {
    const now = view.current?.state.doc.toString()
    if (now === undefined || echoes.current.isEcho(value, now)) return
    view.current?.dispatch({
      changes: { from: 0, to: now.length, insert: value },
      annotations: FROM_PAGE.of(true),
    })
  }, [value])
  useEffect(() => {
    const { state } = view.current ?? {}
    if (state === undefined || diagnostics === undefined) return
    // They may be about an earlier text.
    const { length } = state.doc
    const within = diagnostics.map((one) => ({
      ...one,
      from: Math.min(one.from, length),
      to: Math.min(one.to, length),
    }))
    view.current?.dispatch(setDiagnostics(state, within))
  }, [diagnostics])
  return <div className="editor" ref={host} />
}

const LOOK = new Compartment()
/** Marks a change that comes from the page, not from the user. */
const FROM_PAGE = Annotation.define<boolean>()

function lookOf(isDark: boolean, isReadOnly: boolean, minHeight: string): Extension {
  return [
    syntaxHighlighting(isDark ? DARK : defaultHighlightStyle),
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
  ]
}

const DARK = HighlightStyle.define([
  { tag: tags.keyword, color: '#d0bfff' },
  { tag: [tags.string, tags.special(tags.string)], color: '#8ce99a' },
  { tag: [tags.number, tags.bool, tags.null], color: '#ffc078' },
  { tag: tags.comment, color: '#adb5bd', fontStyle: 'italic' },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: '#91a7ff' },
  { tag: [tags.function(tags.variableName), tags.operator], color: '#99e9f2' },
])
