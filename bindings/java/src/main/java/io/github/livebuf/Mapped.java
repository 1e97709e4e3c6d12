package io.github.livebuf;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Says how a {@link Mapper} takes a component of a record, or a field of a bean. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
public @interface Mapped {
    /** The key of the member; that of the component or the field where it is empty. */
    String value() default "";

    /**
     * Leaves the member out where it is empty: null, false, 0, an empty text, array, collection, map, or Optional. Read
     * again, a component or a field without a member is 0, false, null or an empty Optional.
     */
    boolean omitEmpty() default false;

    /** Leaves the member out always, and does not read it. */
    boolean skip() default false;
}
