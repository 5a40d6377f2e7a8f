// A button that opens a short list of actions, as a popover of the browser: Escape and a click
// elsewhere close it.
import { useId, useRef } from "preact/hooks";

export interface Action {
  key: string;
  text: string;
  isDanger?: boolean;
  onChoose: () => void;
}

export function ActionMenu({ label, testid, actions }: { label: string; testid: string; actions: readonly Action[] }) {
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLDivElement>(null);
  const id = useId();
  const place = () => {
    const around = button.current?.getBoundingClientRect();
    const shown = menu.current;
    if (around === undefined || shown === null || !shown.matches(":popover-open")) return;
    const isLow = around.bottom + shown.offsetHeight + 8 > innerHeight;
    shown.style.left = `${Math.max(8, around.right - shown.offsetWidth)}px`;
    shown.style.top = `${isLow ? around.top - shown.offsetHeight - 4 : around.bottom + 4}px`;
    shown.querySelector("button")?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="quiet menu-dots"
        aria-label={label}
        data-testid={testid}
        popovertarget={id}
      >
        ⋯
      </button>
      <div ref={menu} id={id} popover="auto" class="menu" onToggle={place}>
        {actions.map((action) => (
          <button
            key={action.key}
            type="button"
            class={action.isDanger === true ? "danger-text" : ""}
            data-testid={`${testid}-${action.key}`}
            onClick={() => {
              menu.current?.hidePopover();
              action.onChoose();
            }}
          >
            {action.text}
          </button>
        ))}
      </div>
    </>
  );
}
