// The editor is loaded only for editing. It lives in a shadow root, where its styles need no <style> element,
// which the Content-Security-Policy refuses.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, foldGutter, HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
import { type Diagnostic, linter, lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { Schemas } from "../api/client";

interface Props {
  text: string;
  label: string;
  readOnly?: boolean;
  /** Takes less of the page. */
  short?: boolean;
  problems?: Schemas["Finding"][];
  /** A state to show. */
  find?: string;
  /** A place to show, as a JSON pointer. */
  at?: string;
  onChange?: (text: string) => void;
  /** Reports the state at the cursor. */
  onState?: (state: string | undefined) => void;
}

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "13px", height: "100%" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--dim)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent-soft) 40%, transparent)",
  },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-specialChar": { color: "var(--deny)" },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: "var(--accent)" },
  { tag: tags.string, color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--ask)" },
]);

/** Characters that reorder or hide text are shown as signs. */
const special = highlightSpecialChars({
  addSpecialChars:
    // biome-ignore lint/suspicious/noMisleadingCharacterClass: the characters themselves are meant
    /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u,
});

type Node = { from: number; to: number };

/** Where a JSON pointer is in the text. */
function placeOf(state: EditorState, pointer: string): Node {
  let node = syntaxTree(state).topNode.firstChild;
  for (const part of pointer.split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!node) break;
    if (node.name === "Object") {
      const found = node.getChildren("Property").find((p) => {
        const name = p.getChild("PropertyName");
        return name && unquoted(state.sliceDoc(name.from, name.to)) === key;
      });
      if (!found?.lastChild) return node;
      node = found.lastChild;
    } else if (node.name === "Array") {
      const items: NonNullable<typeof node>[] = [];
      for (let child = node.firstChild; child; child = child.nextSibling)
        if (!/^[[\],⚠]$/.test(child.name)) items.push(child);
      const item = items[Number(key)];
      if (!item) return node;
      node = item;
    } else return node;
  }
  return node ?? { from: 0, to: 0 };
}

const unquoted = (text: string) => {
  try {
    return JSON.parse(text) as string;
  } catch {
    return text;
  }
};

/** The state whose definition the cursor is in. */
function stateAt(state: EditorState): string | undefined {
  const names: string[] = [];
  for (let node = syntaxTree(state).resolveInner(state.selection.main.head, 1); node.parent; node = node.parent) {
    if (node.name !== "Property") continue;
    const name = node.getChild("PropertyName");
    if (name) names.unshift(unquoted(state.sliceDoc(name.from, name.to)));
  }
  return names[0] === "states" ? names[1] : undefined;
}

/** A text editor for JSON. */
export default function Editor({
  text,
  label,
  readOnly = false,
  short = false,
  problems,
  find,
  at,
  onChange,
  onState,
}: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const calls = useRef({ onChange, onState });
  calls.current = { onChange, onState };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text is followed below
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          history(),
          drawSelection(),
          special,
          bracketMatching(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          syntaxHighlighting(colours),
          json(),
          look,
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          // Tab leaves the editor when Escape was typed before it, as CodeMirror has it.
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...(readOnly ? [] : [indentWithTab])]),
          EditorState.readOnly.of(readOnly),
          ...(readOnly ? [] : [lintGutter(), linter(jsonParseLinter())]),
          EditorView.updateListener.of((u) => {
            if (u.docChanged) calls.current.onChange?.(u.state.doc.toString());
            if (u.selectionSet && u.transactions.some((t) => t.isUserEvent("select")))
              calls.current.onState?.(stateAt(u.state));
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, [label, readOnly]);
  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== text)
      editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    const pointer = find ? `/states/${find.replaceAll("~", "~0").replaceAll("/", "~1")}` : at;
    if (!editor || !pointer) return;
    const place = placeOf(editor.state, pointer);
    editor.dispatch({
      selection: { anchor: place.from, head: place.to },
      effects: EditorView.scrollIntoView(place.from, { y: "center" }),
    });
  }, [find, at]);
  useEffect(() => {
    const editor = view.current;
    if (!editor || !problems) return;
    const found: Diagnostic[] = problems.map((p) => {
      const at = placeOf(editor.state, p.pointer ?? "");
      return {
        from: at.from,
        to: Math.min(at.to, editor.state.doc.lineAt(at.from).to),
        severity: p.severity,
        message: p.message,
      };
    });
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [problems]);
  return <div className={short ? "editor short" : "editor"} ref={host} />;
}
