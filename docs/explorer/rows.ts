// A list of rows of one height, of which only those that are seen are drawn.

/** Browsers refuse taller elements; the rows of a longer list are reached in larger steps. */
const TALLEST = 8_000_000;

export class Rows {
  private readonly tall = document.createElement("div");
  private readonly layer = document.createElement("div");
  private count = 0;
  /** The first row that is seen, with a fraction. */
  private top = 0;
  /** Pixels of the box; asking it each time would lay the page out anew. */
  private seenHeight = 600;
  private waiting = false;
  /** Where the bar is by `to`, so that it is not taken for the user's scrolling. */
  private own = -1;

  constructor(
    readonly box: HTMLElement,
    readonly height: number,
    private readonly row: (i: number) => HTMLElement,
  ) {
    this.tall.className = "tall";
    this.layer.className = "layer";
    box.append(this.layer, this.tall);
    box.addEventListener("scroll", () => {
      if (box.scrollTop === this.own) return;
      this.own = -1;
      this.top = box.scrollTop / this.scale;
      this.draw();
    });
    box.addEventListener(
      "wheel",
      (event) => {
        if (this.count * height <= TALLEST || event.deltaMode !== 0 || event.ctrlKey) return;
        event.preventDefault();
        this.to(this.top + event.deltaY / height);
      },
      { passive: false },
    );
    new ResizeObserver(() => {
      this.seenHeight = box.clientHeight;
      this.draw();
    }).observe(box);
  }

  /** Pixels of the bar that scrolls for each row. */
  private get scale(): number {
    return Math.min(this.count * this.height, TALLEST) / Math.max(1, this.count);
  }

  /** Whole rows that are seen. */
  get seen(): number {
    return Math.max(1, Math.floor(this.seenHeight / this.height));
  }

  /** The first row that is seen, with a fraction. */
  get first(): number {
    return this.top;
  }

  resize(count: number): void {
    this.count = count;
    this.tall.style.height = `${this.scale * count}px`;
    this.to(this.top);
  }

  private to(top: number): void {
    this.top = Math.max(0, Math.min(top, this.count - this.seenHeight / this.height));
    this.box.scrollTop = this.top * this.scale;
    this.own = this.box.scrollTop;
    this.draw();
  }

  /** Scrolls as little as it takes until a row is seen; if it is far away, to the middle. */
  reveal(i: number): void {
    const seen = this.seen;
    if (i >= this.top && i + 1 <= this.top + seen) return;
    const far = i < this.top - seen || i > this.top + 2 * seen;
    this.to(far ? i - seen / 2 : i < this.top ? i : i + 1 - seen);
  }

  /** Draws once, before the next frame. */
  draw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const first = Math.floor(this.top);
      const last = Math.min(this.count, Math.ceil(this.top + this.seenHeight / this.height) + 1);
      const rows: HTMLElement[] = [];
      for (let i = first; i < last; i++) rows.push(this.row(i));
      this.layer.replaceChildren(...rows);
      this.layer.style.transform = `translateY(${(first - this.top) * this.height}px)`;
    });
  }
}
