import { createTheme, type MantineColorsTuple } from '@mantine/core'

const blue: MantineColorsTuple = [
  ...(['#edf5fd', '#dbe8f7', '#b2cfef', '#87b4e7', '#649ee0'] as const),
  ...(['#4e90dc', '#2f78c8', '#1c64b4', '#16559b', '#0d437e'] as const),
]

/** As Mantine's, with the shades of buttons and warnings dark enough for white text. */
const red: MantineColorsTuple = [
  ...(['#fff5f5', '#ffe3e3', '#ffc9c9', '#ffa8a8', '#ff8787'] as const),
  ...(['#ff6b6b', '#e03131', '#c22525', '#a61e1e', '#8a1717'] as const),
]

/** Text, borders, fields and ground of the dark theme, from light to dark; a little blue, like the light one. */
const dark: MantineColorsTuple = [
  ...(['#d3d9df', '#b8c0c8', '#9aa4ae', '#77818b', '#3a4047'] as const),
  ...(['#2b3036', '#1d2125', '#15181b', '#121417', '#0d0f11'] as const),
]

/** The head of a dialog is no second banner of the page. */
const PLAIN_HEADER = { header: { role: 'presentation' } }

export const theme = createTheme({
  primaryColor: 'blue',
  primaryShade: { light: 7, dark: 7 },
  colors: { blue, dark, red },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
  defaultRadius: 'sm',
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  headings: { fontWeight: '600' },
  components: {
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true, multiline: true, maw: 360 } },
    // Escape: lib/escape.ts
    Modal: { defaultProps: { centered: true, closeOnEscape: false, attributes: PLAIN_HEADER } },
    // Its colours are too faint for text; the icon and the ground keep them.
    Alert: {
      styles: { label: { color: 'var(--mantine-color-text)' }, message: { color: 'var(--mantine-color-text)' } },
    },
    // The list itself scrolls: it belongs to the field, which the keyboard moves it from.
    Select: {
      // Chromium lets Tab stop at what scrolls; the list is closed then, and the focus would be lost.
      defaultProps: { withScrollArea: false, attributes: { options: { tabIndex: -1 } } },
      styles: { options: { maxHeight: 240, overflowY: 'auto' }, option: { overflowWrap: 'anywhere' } },
    },
    // A long value breaks instead of ending in dots.
    Pill: {
      styles: {
        root: {
          flex: '0 1 auto',
          height: 'auto',
          minHeight: 'var(--pill-height)',
          borderRadius: 'calc(var(--pill-height) / 2)',
        },
        label: { whiteSpace: 'normal', overflowWrap: 'anywhere', height: 'auto' },
        remove: { width: '2em' },
      },
    },
    // Inside of the page's landmarks, and without an element that is no entry.
    Menu: { defaultProps: { withinPortal: false, withInitialFocusPlaceholder: false } },
    Drawer: { defaultProps: { closeOnEscape: false, attributes: PLAIN_HEADER } },
  },
})

/** The gateway puts a new nonce into each answer; Vite writes the element that carries it. */
export const styleNonce = () => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''

/** Dialogs lock scrolling with a style element of a library, which looks for the nonce here (get-nonce). */
export function passNonce(): void {
  Object.assign(globalThis, { __webpack_nonce__: styleNonce() })
}
